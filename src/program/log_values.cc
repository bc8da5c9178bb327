#include "program/log_values.h"

#include <stdexcept>

namespace nodepool::program {

using config::Value;
using telemetry::LogLevel;

std::string text_at(const Value& mapping, std::string_view key) {
  const Value* value = mapping.find(key);
  return value == nullptr || value->is_null() ? std::string() : value->text();
}

std::int64_t integer_at(const Value& mapping, std::string_view key, std::int64_t otherwise) {
  const Value* value = mapping.find(key);
  const double number =
      value == nullptr ? static_cast<double>(otherwise) : value->to_number().value_or(-1);
  constexpr double kLargest = 1e15;
  if (!(number >= 0 && number <= kLargest)) {
    throw std::runtime_error("`" + std::string(key) + "` must be an integer");
  }
  return static_cast<std::int64_t>(number);
}

std::optional<LogLevel> level_at(const Value& mapping) {
  const Value* value = mapping.find("level");
  if (value != nullptr && value->kind() == Value::Kind::integer) {
    if (value->as_integer() == 0) return std::nullopt;
    return telemetry::log_level_from(value->as_integer());
  }
  const std::string name = text_at(mapping, "level");
  if (name.empty() || name == "NOTSET") return std::nullopt;
  const std::optional<LogLevel> level = telemetry::parse_log_level(name);
  if (!level) throw std::runtime_error("unknown log level '" + name + "'");
  return level;
}

}  // namespace nodepool::program
