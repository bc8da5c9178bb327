#include "program/log_config.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cstdint>
#include <iterator>
#include <optional>
#include <stdexcept>
#include <string_view>

#include "config/yaml.h"

namespace nodepool::program {

namespace {

using config::Value;
using telemetry::LogLevel;
using telemetry::LogOptions;
using telemetry::LogRotation;

std::string text_at(const Value& mapping, std::string_view key) {
  const Value* value = mapping.find(key);
  return value == nullptr ? std::string() : value->text();
}

// The level of a logger or handler; nothing if it has none, or NOTSET.
std::optional<LogLevel> level_of(const Value& mapping, const std::string& path) {
  const std::string name = text_at(mapping, "level");
  if (name.empty() || name == "NOTSET") return std::nullopt;
  const std::optional<LogLevel> level = telemetry::parse_log_level(name);
  if (!level) throw std::runtime_error(path + ": unknown log level '" + name + "'");
  return level;
}

// Like Python's root logger: without a level, warnings; with NOTSET, everything.
LogLevel root_level(const Value* root, const std::string& path) {
  if (root == nullptr || text_at(*root, "level").empty()) return LogLevel::warning;
  return level_of(*root, path).value_or(LogLevel::debug);
}

// The first handler of the logger; null if it has none.
const Value* handler_of(const Value& config, const Value* logger, const std::string& path) {
  const Value* names = logger == nullptr ? nullptr : logger->find("handlers");
  if (names == nullptr || !names->is_list() || names->as_list().empty()) return nullptr;
  const std::string name = names->as_list().front().text();
  const Value* handlers = config.find("handlers");
  const Value* handler = handlers == nullptr ? nullptr : handlers->find(name);
  if (handler == nullptr) throw std::runtime_error(path + ": unknown handler '" + name + "'");
  return handler;
}

std::int64_t integer_at(const Value& mapping, std::string_view key, std::int64_t otherwise) {
  const Value* value = mapping.find(key);
  const double number =
      value == nullptr ? static_cast<double>(otherwise) : value->to_number().value_or(-1);
  constexpr double kLargest = 1e15;
  if (number < 0 || number > kLargest) {
    throw std::runtime_error("handler: `" + std::string(key) + "` must be an integer");
  }
  return static_cast<std::int64_t>(number);
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
    throw std::runtime_error("handler: invalid `when: " + when + "`");
  }
  return rotation;
}

LogRotation rotation_by_size(const Value& handler) {
  LogRotation rotation;
  rotation.max_size = static_cast<std::uint64_t>(integer_at(handler, "maxBytes", 0));
  rotation.backups = static_cast<int>(integer_at(handler, "backupCount", 0));
  return rotation;
}

void apply_handler(const Value& handler, LogConfig& config) {
  LogOptions& options = config.options;
  const std::string kind = text_at(handler, "class");
  const std::string file = text_at(handler, "filename");
  const std::string_view name = std::string_view(kind).substr(kind.rfind('.') + 1);
  constexpr std::string_view kKnown[] = {"",
                                         "StreamHandler",
                                         "FileHandler",
                                         "WatchedFileHandler",
                                         "RotatingFileHandler",
                                         "TimedRotatingFileHandler"};
  if (std::ranges::find(kKnown, name) == std::end(kKnown)) {
    config.warnings.push_back("handler class " + kind + " is not supported: messages go to " +
                              (file.empty() ? "standard error" : file + ", without rotation"));
  }
  if (name == "RotatingFileHandler") options.rotation = rotation_by_size(handler);
  if (name == "TimedRotatingFileHandler") {
    options.rotation = rotation_by_time(handler, config.warnings);
  }
  if (!file.empty()) {
    options.target = LogOptions::Target::file;
    options.file = file;
  } else if (text_at(handler, "stream") == "ext://sys.stdout") {
    options.target = LogOptions::Target::standard_output;
  }
}

// Warns of parts of the file that are ignored.
void warn_of_ignored(const Value& config, std::vector<std::string>& warnings) {
  for (const char* key : {"formatters", "filters"}) {
    if (config.find(key) != nullptr) {
      warnings.push_back("`" + std::string(key) + "` are ignored: all lines have the same format");
    }
  }
  const Value* handlers = config.find("handlers");
  if (handlers != nullptr && handlers->is_mapping() && handlers->as_mapping().size() > 1) {
    warnings.emplace_back(
        "only the first handler of the logger `nodepool`, or else of the root logger, is used");
  }
}

std::string read(const std::string& path) {
  try {
    return config::read_file(path);
  } catch (const config::ConfigError&) {
    throw std::runtime_error("Unable to read logging config file at " + path);
  }
}

}  // namespace

LogConfig load_log_config(const std::string& path) {
  const std::string text = read(path);
  if (!path.ends_with(".yaml") && !path.ends_with(".yml") && !path.ends_with(".json")) {
    throw std::runtime_error(path +
                             ": unsupported format of a logging configuration: use YAML or JSON "
                             "(.yaml, .yml, .json)");
  }
  const Value config = config::parse_yaml(text, path);
  if (!config.is_mapping()) throw std::runtime_error(path + ": not a logging configuration");
  LogConfig result;
  LogOptions& options = result.options;
  warn_of_ignored(config, result.warnings);
  const Value* root = config.find("root");
  const Value* loggers = config.find("loggers");
  options.levels[""] = root_level(root, path);
  if (loggers != nullptr && loggers->is_mapping()) {
    for (const auto& entry : loggers->as_mapping()) {
      // Without one, it has its parent's.
      if (const auto level = level_of(entry.value, path)) options.levels[entry.key] = *level;
    }
  }
  const Value* handler =
      handler_of(config, loggers == nullptr ? nullptr : loggers->find("nodepool"), path);
  if (handler == nullptr) handler = handler_of(config, root, path);
  if (handler == nullptr) return result;
  try {
    apply_handler(*handler, result);
  } catch (const std::runtime_error& error) {
    throw std::runtime_error(path + ": " + error.what());
  }
  const LogLevel least = level_of(*handler, path).value_or(LogLevel::debug);
  for (auto& [name, level] : options.levels) level = std::max(level, least);
  for (std::string& warning : result.warnings) warning = fmt::format("{}: {}", path, warning);
  return result;
}

}  // namespace nodepool::program
