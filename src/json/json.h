#pragma once

#include <cstddef>
#include <stdexcept>
#include <string>
#include <string_view>

#include <nlohmann/json.hpp>

// Parses JSON from outside: records, responses of clouds, payloads, files. It is safe for malicious
// input, unlike the library's parser: that is quadratic in the number of keys (a second for
// 20,000), and copying or writing a deep value exhausts the stack. Costly to include.
namespace nodepool::json {

using Json = nlohmann::ordered_json;  // objects keep the order of their keys

// Maximum nesting of lists and objects. Real records and responses are far below.
inline constexpr std::size_t kMaximumDepth = 64;

// Limits of memory: a value of one or two bytes of text can take 200 bytes of memory. A text may
// have kFreeValues values, keys not counted, plus one for each kBytesPerValue bytes. So parsing
// takes at most kFreeMemory plus kMemoryPerByte for each byte of text.
inline constexpr std::size_t kFreeValues = 200'000;
inline constexpr std::size_t kBytesPerValue = 16;
inline constexpr std::size_t kFreeMemory = std::size_t{48} << 20;  // bytes
inline constexpr std::size_t kMemoryPerByte = 16;

// Limits of a record in the store. They are lower, so that each part of a record, and a document
// with a record in it, can be parsed again by itself. Real records are below.
inline constexpr std::size_t kMaximumRecordDepth = 48;
inline constexpr std::size_t kMaximumRecordValues = 100'000;
static_assert(kMaximumRecordDepth < kMaximumDepth && kMaximumRecordValues < kFreeValues);

class ParseError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// Parses `text`, in time proportional to its length. Of equal keys, the last value counts, at the
// position of the first. Throws ParseError if the text is not valid JSON, is nested too deeply, or
// has too many values.
Json parse(std::string_view text);

// The same with the limits of a record. An integer beyond 64 bits becomes a binary value, its
// digits, so that it can be written as it was: Zuul's requests have trace ids of 128 bits. Half of
// a character, a surrogate that Python writes without the other one, becomes U+FFFD.
Json parse_record(std::string_view text);

// The value as one line of JSON, without a newline. Bytes that are not valid UTF-8 become U+FFFD:
// values quote what clouds, requestors and users have written.
std::string to_text(const Json& value);

}  // namespace nodepool::json
