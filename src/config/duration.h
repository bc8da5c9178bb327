#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace nodepool::config {

// Reads "90" or "90s" (seconds), "10m", "2h", "1d". Returns nothing for any other text, and if the
// number is not positive or more than a century.
std::optional<std::chrono::seconds> parse_duration(std::string_view text);

// A number of seconds as a duration. Beyond a century it is a century, for sums with a time must
// not overflow.
std::chrono::seconds duration_of(std::int64_t seconds);

// The inverse of parse_duration(), in the largest unit that fits: "90s", "36h", "1d".
std::string duration_words(std::chrono::seconds duration);

}  // namespace nodepool::config
