#include "telemetry/log_level.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <string>

namespace nodepool::telemetry {

namespace {

constexpr std::array<std::string_view, 6> kLevelNames = {"DEBUG", "INFO",     "WARNING",
                                                         "ERROR", "CRITICAL", "OFF"};

constexpr int kLevelDistance = 10;  // between Python's numbers

}  // namespace

std::optional<LogLevel> parse_log_level(std::string_view name) {
  std::string upper(name);
  std::ranges::transform(upper, upper.begin(), [](unsigned char c) { return std::toupper(c); });
  if (upper == "WARN") return LogLevel::warning;
  if (upper == "FATAL") return LogLevel::critical;
  const auto* found = std::ranges::find(kLevelNames, upper);
  if (found == kLevelNames.end()) return std::nullopt;
  return static_cast<LogLevel>(found - kLevelNames.begin());
}

LogLevel log_level_from(std::int64_t number) {
  const std::int64_t most = number_of(LogLevel::off);
  return static_cast<LogLevel>((std::clamp<std::int64_t>(number, 1, most) - 1) / kLevelDistance);
}

int number_of(LogLevel level) {
  return (static_cast<int>(level) + 1) * kLevelDistance;
}

std::string_view name_of(LogLevel level) {
  return kLevelNames.at(static_cast<std::size_t>(level));
}

}  // namespace nodepool::telemetry
