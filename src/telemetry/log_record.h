#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>
#include <variant>

#include "telemetry/log_level.h"

namespace nodepool::telemetry {

// A message of a log. Its texts are sanitized (sanitized_text.h), and valid while it is written.
struct LogRecord {
  LogLevel level = LogLevel::info;
  std::chrono::system_clock::time_point time = {};
  std::string_view logger = {};
  std::string_view message = {};
};

using LogField = std::variant<std::string, std::int64_t, double>;

// The attribute of Python's LogRecord with this name ("levelname", "process"), except `asctime`. A
// place in the source code is empty or 0, as is an unknown attribute.
LogField field_of(const LogRecord& record, std::string_view name);

}  // namespace nodepool::telemetry
