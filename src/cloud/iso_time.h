#pragma once

#include <optional>
#include <string>

namespace nodepool::cloud {

// Seconds since the epoch of "2026-11-21T11:00:00Z": with "UTC" or an offset in place of the "Z"
// too, and with a fraction, which is left out. Nothing if it is something else.
std::optional<double> parse_iso_time(const std::string& text);

// The same the other way round, to the second. What is before 1970 or after the year 9999 becomes
// the first or last second between them.
std::string iso_time(double seconds);

}  // namespace nodepool::cloud
