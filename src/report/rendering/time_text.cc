#include <fmt/format.h>

#include <array>
#include <cmath>
#include <cstdint>
#include <ctime>

#include "report/rendering/table_text.h"

namespace nodepool::report {

namespace {

// As strftime has it.
std::string local(std::time_t seconds, const char* format) {
  std::tm parts{};
  ::localtime_r(&seconds, &parts);
  std::array<char, 32> text{};
  std::strftime(text.data(), text.size(), format, &parts);
  return text.data();
}

}  // namespace

std::string time_text(Time time) {
  const auto milliseconds = static_cast<std::int64_t>(std::floor(time.seconds * 1000));
  const std::time_t seconds = milliseconds / 1000;
  return fmt::format("{}.{:03} {}", local(seconds, "%Y-%m-%d %H:%M:%S"), milliseconds % 1000,
                     local(seconds, "%z"));
}

std::string time_text_in_seconds(Time time) {
  return local(static_cast<std::time_t>(std::floor(time.seconds)), "%Y-%m-%d %H:%M:%S %z");
}

std::string duration_text(Duration duration) {
  constexpr double kLong = 600;
  if (duration.seconds < kLong) return fmt::format("{:.3f} s", duration.seconds);
  const auto whole = static_cast<std::int64_t>(duration.seconds);
  return fmt::format("{}:{:02}:{:02}", whole / 3600, whole / 60 % 60, whole % 60);
}

}  // namespace nodepool::report
