#pragma once

#include <chrono>
#include <ctime>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "telemetry/log_pattern.h"
#include "telemetry/log_record.h"

namespace nodepool::telemetry {

// How a target of the log writes messages, like Python's logging.Formatter.
struct LogFormatOptions {
  std::string format = "%(asctime)s %(levelname)s %(name)s: %(message)s";
  char style = '%';              // or '{' or '$': of the fields in `format`
  std::string date_format = {};  // for strftime(); empty: 2026-11-21 04:40:12,345
  bool is_json = false;          // a message is a JSON object with the fields of `format`
};

// Renders messages. Not thread-safe.
class LogFormat {
 public:
  explicit LogFormat(const LogFormatOptions& options);

  // Complete lines, each of which begins with `line_start`. Further lines of a message repeat the
  // other fields and indent the text by two spaces.
  std::string render(const LogRecord& record, std::string_view line_start);

 private:
  std::string date_of(std::chrono::system_clock::time_point time);
  std::string render_line(const LogRecord& record, const std::string& date) const;
  std::string render_json(const LogRecord& record, const std::string& date) const;

  std::vector<PatternPiece> pieces_;
  std::string date_format_;
  bool has_date_;  // otherwise it is not rendered
  bool is_json_;
  std::optional<std::time_t> last_second_;  // of a message
  std::string last_date_;                   // its text, without milliseconds
};

}  // namespace nodepool::telemetry
