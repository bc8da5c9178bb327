#include "program/log_config.h"

#include <algorithm>
#include <stdexcept>
#include <string_view>

#include "config/yaml.h"

namespace nodepool::program {

namespace {

using config::Value;
using telemetry::LogLevel;
using telemetry::LogOptions;

std::string text_at(const Value& mapping, std::string_view key) {
  const Value* value = mapping.find(key);
  return value == nullptr ? std::string() : value->text();
}

// The level of a logger or handler; debug, that is all, if it has none.
LogLevel level_of(const Value& mapping, const std::string& path) {
  const std::string name = text_at(mapping, "level");
  if (name.empty() || name == "NOTSET") return LogLevel::debug;
  const std::optional<LogLevel> level = telemetry::parse_log_level(name);
  if (!level) throw std::runtime_error(path + ": unknown log level '" + name + "'");
  return *level;
}

// The handler that the logger uses first; null if it uses none.
const Value* handler_of(const Value& config, const Value* logger, const std::string& path) {
  const Value* names = logger == nullptr ? nullptr : logger->find("handlers");
  if (names == nullptr || !names->is_list() || names->as_list().empty()) return nullptr;
  const std::string name = names->as_list().front().text();
  const Value* handlers = config.find("handlers");
  const Value* handler = handlers == nullptr ? nullptr : handlers->find(name);
  if (handler == nullptr) throw std::runtime_error(path + ": there is no handler '" + name + "'");
  return handler;
}

void apply_handler(const Value& handler, LogOptions& options) {
  const std::string file = text_at(handler, "filename");
  if (!file.empty()) {
    options.target = LogOptions::Target::file;
    options.file = file;
  } else if (text_at(handler, "stream") == "ext://sys.stdout") {
    options.target = LogOptions::Target::standard_output;
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

LogOptions load_log_config(const std::string& path) {
  const std::string text = read(path);
  if (!path.ends_with(".yaml") && !path.ends_with(".yml") && !path.ends_with(".json")) {
    throw std::runtime_error(path +
                             ": only logging configurations in YAML or JSON (.yaml, .yml, "
                             ".json) are understood");
  }
  const Value config = config::parse_yaml(text, path);
  if (!config.is_mapping()) throw std::runtime_error(path + ": no logging configuration");
  LogOptions options;
  const Value* root = config.find("root");
  const Value* loggers = config.find("loggers");
  options.levels[""] = root == nullptr ? LogLevel::warning : level_of(*root, path);
  if (loggers != nullptr && loggers->is_mapping()) {
    for (const auto& entry : loggers->as_mapping()) {
      options.levels[entry.key] = level_of(entry.value, path);
    }
  }
  const Value* handler =
      handler_of(config, loggers == nullptr ? nullptr : loggers->find("nodepool"), path);
  if (handler == nullptr) handler = handler_of(config, root, path);
  if (handler == nullptr) return options;
  apply_handler(*handler, options);
  const LogLevel least = level_of(*handler, path);
  for (auto& [name, level] : options.levels) level = std::max(level, least);
  return options;
}

}  // namespace nodepool::program
