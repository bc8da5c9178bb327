#include "cloud/iso_time.h"

#include <algorithm>
#include <ctime>
#include <string_view>

namespace nodepool::cloud {

namespace {

constexpr double kLastSecond = 253'402'300'799;  // of the year 9999

}  // namespace

std::optional<double> parse_iso_time(const std::string& text) {
  std::tm parts{};
  const char* end = ::strptime(text.c_str(), "%Y-%m-%dT%H:%M:%S", &parts);
  if (end == nullptr) return std::nullopt;
  std::string_view rest(end);
  if (rest.starts_with('.')) {
    rest.remove_prefix(std::min(rest.find_first_not_of("0123456789", 1), rest.size()));
  }
  double offset = 0;
  if (rest.starts_with('+') || rest.starts_with('-')) {
    std::tm zone{};
    const std::string hours(rest.substr(1));
    const char* after = ::strptime(hours.c_str(), "%H:%M", &zone);
    if (after == nullptr || *after != '\0') return std::nullopt;
    offset = (rest.front() == '+' ? 60.0 : -60.0) * (zone.tm_hour * 60 + zone.tm_min);
  } else if (rest != "Z" && rest != "UTC") {
    return std::nullopt;
  }
  return static_cast<double>(::timegm(&parts)) - offset;
}

std::string iso_time(double seconds) {
  const double shown = seconds > 0 ? std::min(seconds, kLastSecond) : 0;  // no number: 0
  const auto when = static_cast<std::time_t>(shown);
  std::tm parts{};
  ::gmtime_r(&when, &parts);
  std::string text(32, '\0');
  text.resize(std::strftime(text.data(), text.size(), "%Y-%m-%dT%H:%M:%SZ", &parts));
  return text;
}

}  // namespace nodepool::cloud
