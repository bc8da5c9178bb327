#pragma once

#include <optional>
#include <string>

namespace nodepool::cloud {

// Converts "2026-11-21T11:00:00Z" to seconds since the epoch. "UTC" or an offset may replace the
// "Z"; a fraction is ignored. Returns nothing for other text.
std::optional<double> parse_iso_time(const std::string& text);

// Formats seconds since the epoch like "2026-11-21T11:00:00Z". Clamps to the years 1970 to 9999.
std::string iso_time(double seconds);

}  // namespace nodepool::cloud
