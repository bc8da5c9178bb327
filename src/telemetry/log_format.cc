#include "telemetry/log_format.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <ctime>
#include <utility>
#include <variant>

#include "json/json.h"
#include "telemetry/sanitized_text.h"

namespace nodepool::telemetry {

namespace {

std::string date_text(std::chrono::system_clock::time_point time, const std::string& format) {
  const std::time_t seconds = std::chrono::system_clock::to_time_t(time);
  std::tm local{};
  ::localtime_r(&seconds, &local);
  std::array<char, 256> text{};
  const char* const pattern = format.empty() ? "%Y-%m-%d %H:%M:%S" : format.c_str();
  const std::size_t size = std::strftime(text.data(), text.size(), pattern, &local);
  std::string date(text.data(), size);
  if (!format.empty()) return date;
  const auto milliseconds =
      std::chrono::duration_cast<std::chrono::milliseconds>(time.time_since_epoch()).count();
  return date + fmt::format(",{:03}", milliseconds % std::milli::den);
}

LogField dated_field(const LogRecord& record, const std::string& date, std::string_view name) {
  return name == "asctime" ? LogField(date) : field_of(record, name);
}

}  // namespace

LogFormat::LogFormat(const LogFormatOptions& options)
    : pieces_(parse_pattern(options.format, options.style)),
      date_format_(options.date_format),
      is_json_(options.is_json) {}

std::string LogFormat::render(const LogRecord& record, std::string_view line_start) const {
  const std::string date = date_text(record.time, date_format_);
  const std::string logger = sanitized_text(record.logger);
  const std::string message = sanitized_text(record.message);
  LogRecord line{record.level, record.time, logger, message};
  std::string text;
  if (is_json_) return text.append(line_start).append(render_json(line, date)).append("\n");
  for (std::size_t start = 0; start <= message.size();) {
    const std::size_t end = std::min(message.find('\n', start), message.size());
    std::string part = message.substr(start, end - start);
    if (start > 0) part.insert(0, "  ");
    line.message = part;
    text.append(line_start).append(render_line(line, date)).append("\n");
    start = end + 1;
  }
  return text;
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
