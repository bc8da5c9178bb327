#include "program/log_handler.h"

#include <algorithm>
#include <cctype>
#include <cstdint>
#include <iterator>
#include <stdexcept>
#include <string_view>

#include "program/log_values.h"

namespace nodepool::program {

namespace {

using config::Value;
using telemetry::LogFormatOptions;
using telemetry::LogLevel;
using telemetry::LogRotation;
using telemetry::LogTargetOptions;

constexpr std::string_view kHandlerClasses[] = {"",
                                                "StreamHandler",
                                                "FileHandler",
                                                "WatchedFileHandler",
                                                "RotatingFileHandler",
                                                "TimedRotatingFileHandler"};

constexpr std::string_view kFormatterClasses[] = {"", "Formatter", "MultiLineFormatter"};

// The entry of a group such as `handlers`. Throws if there is none.
const Value& entry_of(const Value& config, const std::string& group, const std::string& name) {
  const Value* entries = config.find(group);
  const Value* entry = entries == nullptr ? nullptr : entries->find(name);
  if (entry != nullptr) return *entry;
  throw std::runtime_error("unknown " + group.substr(0, group.size() - 1) + " '" + name + "'");
}

// "logging.handlers.WatchedFileHandler", also of a factory.
std::string class_of(const Value& entry) {
  const std::string name = text_at(entry, "class");
  return name.empty() ? text_at(entry, "()") : name;
}

std::string_view last_part(std::string_view name) {
  return name.substr(name.rfind('.') + 1);
}

// The `when` of a TimedRotatingFileHandler. Reference: Python's logging.handlers.
LogRotation rotation_by_time(const Value& handler, std::vector<std::string>& warnings) {
  using Period = LogRotation::Period;
  struct Unit {
    std::string_view name;
    std::int64_t seconds;
    const char* suffix;
  };
  constexpr const char* kDate = "%Y-%m-%d";
  static constexpr Unit kUnits[] = {{"S", 1, "%Y-%m-%d_%H-%M-%S"},
                                    {"M", 60, "%Y-%m-%d_%H-%M"},
                                    {"H", 3600, "%Y-%m-%d_%H"},
                                    {"D", 86400, kDate}};
  std::string when = text_at(handler, "when");
  if (when.empty()) when = "H";
  std::ranges::transform(when, when.begin(), [](unsigned char c) { return std::toupper(c); });
  const std::int64_t interval = std::max<std::int64_t>(1, integer_at(handler, "interval", 1));
  LogRotation rotation;
  rotation.backups = static_cast<int>(integer_at(handler, "backupCount", 0));
  const Value* utc = handler.find("utc");
  rotation.utc = utc != nullptr && utc->truthy();
  rotation.suffix = kDate;
  if (handler.find("atTime") != nullptr) {
    warnings.emplace_back("`atTime` is not supported: the log file rotates at midnight");
  }
  const auto* const unit = std::ranges::find(kUnits, when, &Unit::name);
  if (unit != std::end(kUnits)) {
    rotation.period = Period::fixed;
    rotation.seconds = unit->seconds * interval;
    rotation.suffix = unit->suffix;
    return rotation;
  }
  if (interval > 1) warnings.push_back("`interval` is not supported with `when: " + when + "`");
  if (when == "MIDNIGHT") {
    rotation.period = Period::midnight;
  } else if (when.size() == 2 && when[0] == 'W' && when[1] >= '0' && when[1] <= '6') {
    rotation.period = Period::weekday;
    rotation.weekday = when[1] - '0';
  } else {
    throw std::runtime_error("invalid `when: " + when + "`");
  }
  return rotation;
}

LogRotation rotation_by_size(const Value& handler) {
  LogRotation rotation;
  rotation.max_size = static_cast<std::uint64_t>(integer_at(handler, "maxBytes", 0));
  rotation.backups = static_cast<int>(integer_at(handler, "backupCount", 0));
  return rotation;
}

// Whether formatters of the class write JSON, such as `pythonjsonlogger.jsonlogger.JsonFormatter`.
bool writes_json(std::string name) {
  std::ranges::transform(name, name.begin(), [](unsigned char c) { return std::tolower(c); });
  return name.contains("json");
}

LogFormatOptions read_formatter(const Value& formatter, std::vector<std::string>& warnings) {
  LogFormatOptions options;
  const std::string kind = class_of(formatter);
  options.is_json = writes_json(kind);
  const bool is_known =
      std::ranges::find(kFormatterClasses, last_part(kind)) != std::end(kFormatterClasses);
  if (!is_known && !options.is_json) {
    warnings.push_back("formatter class " + kind + " is not supported: lines have the usual form");
    return options;
  }
  std::string format = text_at(formatter, "format");
  if (format.empty()) format = text_at(formatter, "fmt");  // of a factory
  const std::string style = text_at(formatter, "style");
  if (!format.empty()) {
    options.format = format;
    if (!style.empty()) options.style = style.front();
  }
  options.date_format = text_at(formatter, "datefmt");
  return options;
}

void apply_class(const Value& handler, LogHandler& result, std::vector<std::string>& warnings) {
  const std::string kind = class_of(handler);
  const std::string_view name = last_part(kind);
  const std::string file = text_at(handler, "filename");
  const std::string stream = text_at(handler, "stream");
  if (std::ranges::find(kHandlerClasses, name) == std::end(kHandlerClasses)) {
    std::string destination = "the other handlers, or to standard error if there are none";
    if (!stream.empty()) destination = stream;
    if (!file.empty()) destination = file + ", without rotation";
    warnings.push_back("handler class " + kind + " is not supported: messages go to " +
                       destination);
    if (file.empty() && stream.empty()) result.kind = LogHandler::Kind::unsupported;
  }
  LogTargetOptions& target = result.target;
  if (name == "RotatingFileHandler") target.rotation = rotation_by_size(handler);
  if (name == "TimedRotatingFileHandler") target.rotation = rotation_by_time(handler, warnings);
  if (!file.empty()) {
    target.kind = LogTargetOptions::Kind::file;
    target.file = file;
  } else if (stream == "ext://sys.stdout") {
    target.kind = LogTargetOptions::Kind::standard_output;
  }
  if (text_at(handler, "mode").starts_with('w')) {
    warnings.push_back("`mode: w` is not supported: " + file + " is appended to");
  }
}

}  // namespace

LogHandler read_log_handler(const Value& config, const std::string& name,
                            std::vector<std::string>& warnings) {
  const Value& handler = entry_of(config, "handlers", name);
  if (last_part(class_of(handler)) == "NullHandler") return {.kind = LogHandler::Kind::null};
  LogHandler result;
  try {
    apply_class(handler, result, warnings);
    result.target.level = level_at(handler).value_or(LogLevel::debug);
    const std::string formatter = text_at(handler, "formatter");
    if (!formatter.empty()) {
      result.target.format = read_formatter(entry_of(config, "formatters", formatter), warnings);
    }
  } catch (const std::runtime_error& error) {
    throw std::runtime_error("handler '" + name + "': " + error.what());
  }
  return result;
}

}  // namespace nodepool::program
