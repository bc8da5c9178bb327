#include "telemetry/log_format.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <ctime>
#include <utility>
#include <variant>

#include "json/json.h"

namespace nodepool::telemetry {

namespace {

constexpr std::string_view kDateField = "asctime";

std::string date_text(std::time_t second, const std::string& format) {
  std::tm local{};
  ::localtime_r(&second, &local);
  std::array<char, 256> text{};
  const char* const pattern = format.empty() ? "%Y-%m-%d %H:%M:%S" : format.c_str();
  const std::size_t size = std::strftime(text.data(), text.size(), pattern, &local);
  return {text.data(), size};
}

LogField dated_field(const LogRecord& record, const std::string& date, std::string_view name) {
  return name == kDateField ? LogField(date) : field_of(record, name);
}

}  // namespace

LogFormat::LogFormat(const LogFormatOptions& options)
    : pieces_(parse_pattern(options.format, options.style)),
      date_format_(options.date_format),
      has_date_(std::ranges::any_of(
          pieces_,
          [](const PatternPiece& piece) { return piece.is_field && piece.text == kDateField; })),
      is_json_(options.is_json) {}

std::string LogFormat::render(const LogRecord& record, std::string_view line_start) {
  const std::string date = has_date_ ? date_of(record.time) : std::string();
  const std::string_view message = record.message;
  LogRecord line = record;
  std::string text;
  if (is_json_) return text.append(line_start).append(render_json(line, date)).append("\n");
  for (std::size_t start = 0; start <= message.size();) {
    const std::size_t end = std::min(message.find('\n', start), message.size());
    std::string part(message.substr(start, end - start));
    if (start > 0) part.insert(0, "  ");
    line.message = part;
    text.append(line_start).append(render_line(line, date)).append("\n");
    start = end + 1;
  }
  return text;
}

std::string LogFormat::date_of(std::chrono::system_clock::time_point time) {
  const std::time_t second = std::chrono::system_clock::to_time_t(time);
  if (second != last_second_) {
    last_second_ = second;
    last_date_ = date_text(second, date_format_);
  }
  if (!date_format_.empty()) return last_date_;
  const auto milliseconds =
      std::chrono::duration_cast<std::chrono::milliseconds>(time.time_since_epoch()).count();
  return last_date_ + fmt::format(",{:03}", milliseconds % std::milli::den);
}

std::string LogFormat::render_line(const LogRecord& record, const std::string& date) const {
  std::string line;
  for (const PatternPiece& piece : pieces_) {
    line +=
        piece.is_field ? formatted(dated_field(record, date, piece.text), piece.spec) : piece.text;
  }
  return line;
}

std::string LogFormat::render_json(const LogRecord& record, const std::string& date) const {
  json::Json object = json::Json::object();
  for (const PatternPiece& piece : pieces_) {
    if (!piece.is_field) continue;
    std::visit([&](const auto& value) { object[piece.text] = value; },
               dated_field(record, date, piece.text));
  }
  return json::to_text(object);
}

}  // namespace nodepool::telemetry
