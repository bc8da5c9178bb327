#include "program/log_ini.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <set>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "program/ini_file.h"
#include "program/python_literal.h"

namespace nodepool::program {

namespace {

using config::Value;

// The parameters of a handler's constructor that `args` give in order.
std::vector<std::string> parameters_of(std::string_view handler_class) {
  const std::string_view name = handler_class.substr(handler_class.rfind('.') + 1);
  if (name == "StreamHandler") return {"stream"};
  if (name == "FileHandler" || name == "WatchedFileHandler") return {"filename", "mode"};
  if (name == "RotatingFileHandler") return {"filename", "mode", "maxBytes", "backupCount"};
  if (name == "TimedRotatingFileHandler") {
    return {"filename", "when", "interval", "backupCount", "encoding", "delay", "utc", "atTime"};
  }
  return {};
}

// The names in a list such as "console, file".
std::set<std::string> names_in(std::string_view list) {
  constexpr std::string_view kSeparators = " \t\n,";
  std::set<std::string> names;
  while (true) {
    list.remove_prefix(std::min(list.find_first_not_of(kSeparators), list.size()));
    if (list.empty()) return names;
    const std::string_view name = list.substr(0, list.find_first_of(kSeparators));
    names.emplace(name);
    list.remove_prefix(name.size());
  }
}

class IniConversion {
 public:
  explicit IniConversion(std::string_view text) : file_(text) {}

  Value convert() const;

 private:
  std::set<std::string> sections(const std::string& group) const;
  Value formatter(const std::string& section) const;
  Value handler(const std::string& section) const;
  Value logger(const std::string& section) const;
  void add_text(Value::Mapping& mapping, const std::string& section, const std::string& key) const;
  void add_arguments(Value::Mapping& handler, const std::string& section) const;

  IniFile file_;
};

Value IniConversion::convert() const {
  const auto name_of = [](const std::string& section) {
    return section.substr(section.find('_') + 1);
  };
  Value::Mapping config;
  Value::Mapping formatters;
  for (const std::string& section : sections("formatter")) {
    formatters.push_back({.key = name_of(section), .value = formatter(section)});
  }
  Value::Mapping handlers;
  for (const std::string& section : sections("handler")) {
    handlers.push_back({.key = name_of(section), .value = handler(section)});
  }
  Value::Mapping loggers;
  for (const std::string& section : sections("logger")) {
    if (section == "logger_root") {
      config.push_back({.key = "root", .value = logger(section)});
    } else {
      loggers.push_back({.key = file_.value(section, "qualname"), .value = logger(section)});
    }
  }
  config.push_back({.key = "formatters", .value = Value::mapping(std::move(formatters))});
  config.push_back({.key = "handlers", .value = Value::mapping(std::move(handlers))});
  config.push_back({.key = "loggers", .value = Value::mapping(std::move(loggers))});
  return Value::mapping(std::move(config));
}

// The sections of a group, such as [handler_console], which `keys` in [handlers] lists.
std::set<std::string> IniConversion::sections(const std::string& group) const {
  const auto require_section = [this](const std::string& section) {
    if (!file_.has_section(section)) throw std::runtime_error("[" + section + "] is missing");
  };
  require_section(group + "s");
  std::set<std::string> sections;
  for (const std::string& name : names_in(file_.value(group + "s", "keys"))) {
    const std::string section = fmt::format("{}_{}", group, name);
    require_section(section);
    sections.insert(section);
  }
  return sections;
}

Value IniConversion::formatter(const std::string& section) const {
  Value::Mapping formatter;
  add_text(formatter, section, "class");
  for (const char* key : {"format", "datefmt", "style"}) {
    formatter.push_back({.key = key, .value = Value::string(file_.raw(section, key))});
  }
  return Value::mapping(std::move(formatter));
}

Value IniConversion::handler(const std::string& section) const {
  Value::Mapping handler;
  for (const char* key : {"class", "level", "formatter"}) add_text(handler, section, key);
  try {
    add_arguments(handler, section);
  } catch (const std::runtime_error& error) {
    throw std::runtime_error("[" + section + "] " + error.what());
  }
  return Value::mapping(std::move(handler));
}

Value IniConversion::logger(const std::string& section) const {
  Value::Mapping logger;
  add_text(logger, section, "level");
  Value::List handlers;
  for (const std::string& name : names_in(file_.value(section, "handlers"))) {
    handlers.push_back(Value::string(name));
  }
  logger.push_back({.key = "handlers", .value = Value::list(std::move(handlers))});
  const bool propagates = file_.value(section, "propagate") != "0";
  logger.push_back({.key = "propagate", .value = Value::boolean(propagates)});
  return Value::mapping(std::move(logger));
}

void IniConversion::add_text(Value::Mapping& mapping, const std::string& section,
                             const std::string& key) const {
  mapping.push_back({.key = key, .value = Value::string(file_.value(section, key))});
}

// Of a class that is not supported, the arguments have no meaning here.
void IniConversion::add_arguments(Value::Mapping& handler, const std::string& section) const {
  const std::vector<std::string> parameters = parameters_of(file_.value(section, "class"));
  if (parameters.empty()) return;
  const std::string positional = file_.value(section, "args");
  if (!positional.empty()) {
    const Value arguments = parse_python_literal(positional);
    if (!arguments.is_list()) throw std::runtime_error("`args` must be a tuple");
    const std::size_t size = std::min(parameters.size(), arguments.as_list().size());
    for (std::size_t i = 0; i < size; ++i) {
      handler.push_back({.key = parameters[i], .value = arguments.as_list()[i]});
    }
  }
  const std::string named = file_.value(section, "kwargs");
  if (named.empty()) return;
  const Value arguments = parse_python_literal(named);
  if (!arguments.is_mapping()) throw std::runtime_error("`kwargs` must be a dict");
  std::ranges::copy(arguments.as_mapping(), std::back_inserter(handler));
}

}  // namespace

Value parse_log_ini(std::string_view text) {
  return IniConversion(text).convert();
}

}  // namespace nodepool::program
