#pragma once

#include <cstddef>
#include <stdexcept>
#include <string_view>

#include <nlohmann/json.hpp>

// JSON that comes from outside: records, answers of clouds, payloads, files. What others write may
// be built to hurt: the library's own parser looks for each key of an object among all before it (a
// second for 20,000 keys), and copying or writing a deep value takes the stack. Costly to include.
namespace nodepool::json {

using Json = nlohmann::ordered_json;  // objects keep the order of their keys

// Lists and objects within each other. Nobody's records or answers come near it.
inline constexpr std::size_t kMaximumDepth = 64;

// A value of one or two bytes of text takes up to two hundred of memory. A text may have so many
// values, keys not counted, whatever its length, and one more for every so many bytes: those of
// others have less. So it takes at most kFreeMemory, and kMemoryPerByte for each of its bytes.
inline constexpr std::size_t kFreeValues = 200'000;
inline constexpr std::size_t kBytesPerValue = 16;
inline constexpr std::size_t kFreeMemory = std::size_t{48} << 20;  // bytes
inline constexpr std::size_t kMemoryPerByte = 16;

class ParseError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// The value that `text` is, in time proportional to its length. Of equal keys the last one's value
// counts, at the place of the first. Throws ParseError for what is no JSON, nested too deeply, or
// consists of too many values.
Json parse(std::string_view text);

}  // namespace nodepool::json
