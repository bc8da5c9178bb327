#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>

namespace nodepool::config {

// Reads "90" or "90s" (seconds), "10m", "2h", "1d". Returns nothing for any other text, and if the
// number is not positive or more than a century.
std::optional<std::chrono::seconds> parse_duration(std::string_view text);

// The inverse, in the largest unit that fits: "90s", "36h", "1d".
std::string duration_words(std::chrono::seconds duration);

}  // namespace nodepool::config
