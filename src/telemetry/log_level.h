#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace nodepool::telemetry {

enum class LogLevel { debug, info, warning, error, critical, off };

// Parses Python's level names (DEBUG, INFO, WARNING or WARN, ERROR, CRITICAL or FATAL), in any
// case.
std::optional<LogLevel> parse_log_level(std::string_view name);

// The first level that is at least as severe as Python's number: 10 is DEBUG, 50 CRITICAL.
LogLevel log_level_from(std::int64_t number);

// Python's number and name of a level other than `off`.
int number_of(LogLevel level);
std::string_view name_of(LogLevel level);

}  // namespace nodepool::telemetry
