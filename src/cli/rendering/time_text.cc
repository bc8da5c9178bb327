#include <fmt/format.h>

#include <array>
#include <cmath>
#include <cstdint>
#include <ctime>

#include "cli/rendering/table_text.h"

namespace nodepool::cli {

std::string time_text(report::Time time) {
  const auto milliseconds = static_cast<std::int64_t>(std::floor(time.seconds * 1000));
  const std::time_t seconds = milliseconds / 1000;
  std::tm local{};
  ::localtime_r(&seconds, &local);
  std::array<char, 32> date{};
  std::strftime(date.data(), date.size(), "%Y-%m-%d %H:%M:%S", &local);
  return fmt::format("{}.{:03}", date.data(), milliseconds % 1000);
}

std::string duration_text(report::Duration duration) {
  constexpr double kLong = 600;
  if (duration.seconds < kLong) return fmt::format("{:.3f} s", duration.seconds);
  const auto whole = static_cast<std::int64_t>(duration.seconds);
  return fmt::format("{}:{:02}:{:02}", whole / 3600, whole / 60 % 60, whole % 60);
}

}  // namespace nodepool::cli
