#include "web/http_date.h"

#include <fmt/format.h>

#include <array>
#include <ctime>

namespace nodepool::web {

namespace {

// Independent of the locale.
constexpr std::array kDays = {"Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"};
constexpr std::array kMonths = {"Jan", "Feb", "Mar", "Apr", "May", "Jun",
                                "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};

constexpr int kFirstYear = 1900;  // of std::tm

}  // namespace

std::string http_date(std::int64_t seconds) {
  const std::time_t time = seconds;
  std::tm parts{};
  ::gmtime_r(&time, &parts);
  return fmt::format("{}, {:02} {} {:04} {:02}:{:02}:{:02} GMT",
                     kDays.at(static_cast<std::size_t>(parts.tm_wday)), parts.tm_mday,
                     kMonths.at(static_cast<std::size_t>(parts.tm_mon)), parts.tm_year + kFirstYear,
                     parts.tm_hour, parts.tm_min, parts.tm_sec);
}

std::optional<std::int64_t> parse_http_date(const std::string& text) {
  // The date is valid if formatting it again yields the same text.
  constexpr std::size_t kLength = 29;
  if (text.size() != kLength) return std::nullopt;
  std::tm parts{};
  const auto number = [&text](std::size_t from, std::size_t digits) {
    int value = 0;
    for (const char c : text.substr(from, digits)) value = value * 10 + (c - '0');
    return value;
  };
  const std::string month = text.substr(8, 3);
  for (std::size_t i = 0; i < kMonths.size(); ++i) {
    if (month == kMonths.at(i)) parts.tm_mon = static_cast<int>(i);
  }
  parts.tm_mday = number(5, 2);
  parts.tm_year = number(12, 4) - kFirstYear;
  parts.tm_hour = number(17, 2);
  parts.tm_min = number(20, 2);
  parts.tm_sec = number(23, 2);
  const std::int64_t seconds = ::timegm(&parts);
  if (http_date(seconds) != text) return std::nullopt;
  return seconds;
}

}  // namespace nodepool::web
