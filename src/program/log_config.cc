#include "program/log_config.h"

#include <algorithm>
#include <cstddef>
#include <filesystem>
#include <map>
#include <optional>
#include <stdexcept>
#include <string_view>
#include <utility>

#include "config/yaml.h"
#include "program/log_handler.h"
#include "program/log_ini.h"
#include "program/log_values.h"

namespace nodepool::program {

namespace {

using config::Value;
using telemetry::LogLevel;
using telemetry::LogRoute;
using telemetry::LogTargetOptions;

// All loggers of the programs are below this one; others in a configuration are for Python's
// libraries.
constexpr std::string_view kTopLogger = "nodepool";

constexpr std::size_t kMaxSize = std::size_t{64} << 10;  // bytes of a configuration

bool is_top_or_below(std::string_view logger) {
  if (!logger.starts_with(kTopLogger)) return false;
  logger.remove_prefix(kTopLogger.size());
  return logger.empty() || logger.starts_with('.');
}

using Loggers = std::map<std::string, const Value*, std::less<>>;

// The loggers that matter: the root "", the top one, and those below, parents first. Null: has no
// configuration. The root logger may also be among `loggers`; `root` overrides that.
Loggers relevant_loggers(const Value& config) {
  Loggers loggers{{"", nullptr}, {std::string(kTopLogger), nullptr}};
  const Value* configured = config.find("loggers");
  if (configured != nullptr && configured->is_mapping()) {
    for (const auto& entry : configured->as_mapping()) {
      if (entry.key.empty() || entry.key == "root") loggers[""] = &entry.value;
      if (is_top_or_below(entry.key)) loggers[entry.key] = &entry.value;
    }
  }
  const Value* root = config.find("root");
  if (root != nullptr && root->truthy()) loggers[""] = root;
  return loggers;
}

// Resolves levels and handlers of the loggers.
class RouteReader {
 public:
  explicit RouteReader(const Value& config) : config_(config) { result_.options.targets.clear(); }

  LogConfig read();

 private:
  struct Resolved {
    LogRoute route{.level = LogLevel::warning, .targets = {}};
    bool has_handler = false;  // also one without a target
  };

  Resolved resolve(std::string_view name, const Value* logger);
  const Resolved& parent_of(std::string_view name) const;
  void add_handlers(const Value& logger, Resolved& resolved);
  std::optional<std::size_t> target_of(const std::string& handler);
  std::size_t add_target(LogTargetOptions target);
  std::size_t last_resort();

  const Value& config_;
  LogConfig result_;
  std::map<std::string, Resolved, std::less<>> resolved_;
  std::map<std::string, std::optional<std::size_t>> targets_;  // by handler; nothing: none
  std::optional<std::size_t> last_resort_;  // standard error, for messages without a target
};

LogConfig RouteReader::read() {
  for (const auto& [name, logger] : relevant_loggers(config_)) {
    resolved_[name] = resolve(name, logger);
  }
  for (auto& [name, resolved] : resolved_) {
    if (name.empty()) continue;
    std::vector<std::size_t>& targets = resolved.route.targets;
    if (!resolved.has_handler) targets = {last_resort()};
    if (targets.size() > 1 && last_resort_) std::erase(targets, *last_resort_);
    result_.options.routes[name == kTopLogger ? "" : name] = resolved.route;
  }
  return std::move(result_);
}

RouteReader::Resolved RouteReader::resolve(std::string_view name, const Value* logger) {
  Resolved resolved = name.empty() ? Resolved() : parent_of(name);
  if (logger == nullptr) return resolved;
  const LogLevel inherited = resolved.route.level;
  const Value* propagate = logger->find("propagate");
  if (propagate != nullptr && !propagate->is_null() && !propagate->truthy()) resolved = {};
  // With NOTSET, the root logger logs everything.
  const bool is_root_notset = name.empty() && !text_at(*logger, "level").empty();
  resolved.route.level = level_at(*logger).value_or(is_root_notset ? LogLevel::debug : inherited);
  add_handlers(*logger, resolved);
  return resolved;
}

const RouteReader::Resolved& RouteReader::parent_of(std::string_view name) const {
  while (true) {
    const std::size_t dot = name.rfind('.');
    name = dot == std::string_view::npos ? std::string_view() : name.substr(0, dot);
    const auto found = resolved_.find(name);
    if (found != resolved_.end()) return found->second;
  }
}

void RouteReader::add_handlers(const Value& logger, Resolved& resolved) {
  const Value* handlers = logger.find("handlers");
  if (handlers == nullptr || !handlers->is_list()) return;
  for (const Value& handler : handlers->as_list()) {
    resolved.has_handler = true;
    const std::optional<std::size_t> target = target_of(handler.text());
    std::vector<std::size_t>& targets = resolved.route.targets;
    if (target && std::ranges::find(targets, *target) == targets.end()) targets.push_back(*target);
  }
}

std::optional<std::size_t> RouteReader::target_of(const std::string& handler) {
  const auto [entry, is_new] = targets_.try_emplace(handler);
  if (!is_new) return entry->second;
  LogHandler read = read_log_handler(config_, handler, result_.warnings);
  if (read.kind == LogHandler::Kind::target) entry->second = add_target(std::move(read.target));
  if (read.kind == LogHandler::Kind::unsupported) entry->second = last_resort();
  return entry->second;
}

std::size_t RouteReader::add_target(LogTargetOptions target) {
  result_.options.targets.push_back(std::move(target));
  return result_.options.targets.size() - 1;
}

std::size_t RouteReader::last_resort() {
  if (!last_resort_) last_resort_ = add_target({});
  return *last_resort_;
}

bool is_yaml(const std::filesystem::path& path) {
  const std::string type = path.extension();
  return type == ".yaml" || type == ".yml" || type == ".json";
}

std::string read_configuration(const std::string& path) {
  std::string text;
  try {
    text = config::read_file(path);
  } catch (const config::ConfigError&) {
    throw std::runtime_error("Unable to read logging config file at " + path);
  }
  if (text.size() > kMaxSize) throw std::runtime_error(path + ": larger than 64 KiB");
  return text;
}

LogConfig parse_configuration(const std::string& text, const std::string& path) {
  const Value config = is_yaml(path) ? config::parse_yaml(text, path) : parse_log_ini(text);
  if (!config.is_mapping()) throw std::runtime_error("not a logging configuration");
  LogConfig result = RouteReader(config).read();
  if (config.find("filters") != nullptr) result.warnings.emplace_back("`filters` are ignored");
  return result;
}

}  // namespace

LogConfig load_log_config(const std::string& path) {
  const std::string text = read_configuration(path);
  try {
    LogConfig result = parse_configuration(text, path);
    for (std::string& warning : result.warnings) warning.insert(0, path + ": ");
    return result;
  } catch (const config::ConfigError&) {
    throw;  // names the file
  } catch (const std::runtime_error& error) {
    throw std::runtime_error(path + ": " + error.what());
  }
}

}  // namespace nodepool::program
