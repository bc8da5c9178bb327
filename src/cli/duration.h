#pragma once

#include <chrono>
#include <optional>
#include <string_view>

namespace nodepool::cli {

// Reads "90" or "90s" (seconds), "10m", "2h", "1d". Nothing if it is none of these, not positive,
// or more than a century.
std::optional<std::chrono::seconds> parse_duration(std::string_view text);

}  // namespace nodepool::cli
