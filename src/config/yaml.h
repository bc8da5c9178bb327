#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "config/problem.h"
#include "config/value.h"

namespace nodepool::config {

// Limits; every error names the limit. A hostile file costs at most seconds and kMaxMemory.
inline constexpr std::size_t kMaxFileSize = std::size_t{16} << 20;  // bytes
inline constexpr int kMaxDepth = 100;                 // lists and mappings inside each other
inline constexpr std::size_t kMaxValues = 1'000'000;  // and keys
// Values that come from `*alias` and `<<`, and bytes of text in them.
inline constexpr std::size_t kMaxAliased = 500'000;
inline constexpr std::size_t kMaxAliasedText = kMaxFileSize;
// Bytes that yaml-cpp may read before an event: a scalar, a comment, a whole list or mapping in
// brackets on one line.
inline constexpr std::size_t kMaxAhead = std::size_t{1} << 20;
inline constexpr std::size_t kMaxMemory = std::size_t{300} << 20;  // bytes

// Parses one YAML document like PyYAML's safe loader, by the rules of YAML 1.1:
// `yes` and `off` are booleans, `0600` is octal, `1:30` is 90, `2024-01-01` is a date, `<<` merges
// mappings, the last of several equal keys wins. Empty text is null.
// An integer beyond 64 bits is kept as a string; an alias inside its own anchor, and the tags
// `!!binary`, `!!set`, `!!omap` and `!!pairs` are rejected.
// `file` is for messages. Throws ConfigError for invalid YAML, a second document, an unknown tag,
// invalid UTF-8, control characters, and an exceeded limit.
// Appends to `repeated_keys`, if it is not null, a problem for each of several equal keys but the
// first one, up to 100.
Value parse_yaml(std::string_view text, std::string_view file,
                 std::vector<Problem>* repeated_keys = nullptr);

// The whole content of the file. Throws ConfigError if it cannot be read or is larger than `limit`,
// in bytes.
std::string read_file(const std::string& path, std::size_t limit = kMaxFileSize);

}  // namespace nodepool::config
