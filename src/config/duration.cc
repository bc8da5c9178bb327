#include "config/duration.h"

#include <algorithm>
#include <charconv>
#include <memory>

namespace nodepool::config {

namespace {

constexpr std::chrono::seconds kLongest = std::chrono::days(36525);

std::optional<std::int64_t> seconds_in(std::string_view unit) {
  if (unit.empty() || unit == "s") return 1;
  if (unit == "m") return 60;
  if (unit == "h") return 3600;
  if (unit == "d") return 86400;
  return std::nullopt;
}

}  // namespace

std::chrono::seconds duration_of(std::int64_t seconds) {
  return std::chrono::seconds(std::clamp(seconds, -kLongest.count(), kLongest.count()));
}

std::string duration_words(std::chrono::seconds duration) {
  for (const std::string_view unit : {"d", "h", "m"}) {
    const std::int64_t seconds = *seconds_in(unit);
    if (duration.count() > 0 && duration.count() % seconds == 0) {
      return std::to_string(duration.count() / seconds).append(unit);
    }
  }
  return std::to_string(duration.count()) + "s";
}

std::optional<std::chrono::seconds> parse_duration(std::string_view text) {
  std::int64_t number = 0;
  const char* end = std::to_address(text.end());
  const auto [rest, error] = std::from_chars(std::to_address(text.begin()), end, number);
  const std::optional<std::int64_t> unit = seconds_in({rest, end});
  if (error != std::errc() || !unit || number <= 0) return std::nullopt;
  if (number > kLongest.count() / *unit) return std::nullopt;
  return std::chrono::seconds(number * *unit);
}

}  // namespace nodepool::config
