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

class ParseError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// The value that `text` is, in time proportional to its length. Of equal keys the last one's value
// counts, at the place of the first. Throws ParseError for what is no JSON or nested too deeply.
Json parse(std::string_view text);

}  // namespace nodepool::json
