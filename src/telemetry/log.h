#pragma once

#include <fmt/core.h>

#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "telemetry/log_level.h"
#include "telemetry/log_target.h"

namespace nodepool::telemetry {

// Where the messages of a logger go.
struct LogRoute {
  LogLevel level = LogLevel::info;         // the least that is logged
  std::vector<std::size_t> targets = {0};  // positions in LogOptions::targets
};

struct LogOptions {
  std::vector<LogTargetOptions> targets = {{}};

  // By the longest matching dotted prefix of the logger's name; "" is the root. A logger without
  // one is silent.
  std::map<std::string, LogRoute, std::less<>> routes{{"", {}}};
};

class Logger;

// Writes the messages of a process. By default, the lines have the form of the Python Nodepool's:
//
//   2026-11-21 04:40:12,345 INFO nodepool.PoolWorker.rack-main: [e: 5f0c…] [node_request: 200-…]
//   text
//
// A target that fails does not disturb the others.
class Log {
 public:
  // Opens the targets to which a route refers. Throws std::runtime_error if none of a logger's
  // files can be opened, except on a full file system.
  explicit Log(const LogOptions& options);

  // Passes every message that would be written to `consume` instead, for tests. `consume` may
  // throw, like an output that fails.
  using Consumer =
      std::function<void(LogLevel level, std::string_view logger, std::string_view message)>;
  static std::shared_ptr<Log> to_consumer(Consumer consume, LogLevel level = LogLevel::debug);

  bool enabled(std::string_view logger, LogLevel level) const;

  // Writes one message to the logger's targets that take its level, or to all if there is none.
  // Callable from any thread. A target that fails drops and counts the message.
  void write(std::string_view logger, LogLevel level, std::string_view message);

  // Finds out whether targets that failed work again. Otherwise, their next message does. Callable
  // from any thread.
  void retry();

  // Of all targets: the sum of the lost messages, and the troubles with the targets' names.
  // Callable from any thread.
  LogLosses losses() const;

 private:
  using Routes = std::map<std::string, LogRoute, std::less<>>;
  using Targets = std::map<std::size_t, LogTarget>;  // by their positions in the options

  Log(Targets targets, Routes routes);
  const LogRoute& route_of(std::string_view logger) const;

  mutable std::mutex mutex_;  // worker threads log too
  Targets targets_;
  Routes routes_;  // `level` is at least the least that one of the targets takes
};

// Writes to a Log under a name, with the ids of a request and a node. Cheap to copy.
class Logger {
 public:
  Logger(std::shared_ptr<Log> log, std::string name)
      : log_(std::move(log)), name_(std::move(name)) {}

  // A logger for a component: "nodepool.launcher" -> "nodepool.launcher.cleanup".
  Logger child(std::string_view part) const;

  // The same logger for a request and a node; omits empty ids. The form is the Python Nodepool's:
  // "[e: EVENT] [node_request: ID] [node: ID] ".
  Logger about(std::string_view event_id, std::string_view request_id,
               std::string_view node_id = {}) const;

  template <typename... Args>
  void debug(fmt::format_string<Args...> format, Args&&... args) const {
    write(LogLevel::debug, format, fmt::make_format_args(args...));
  }
  template <typename... Args>
  void info(fmt::format_string<Args...> format, Args&&... args) const {
    write(LogLevel::info, format, fmt::make_format_args(args...));
  }
  template <typename... Args>
  void warning(fmt::format_string<Args...> format, Args&&... args) const {
    write(LogLevel::warning, format, fmt::make_format_args(args...));
  }
  template <typename... Args>
  void error(fmt::format_string<Args...> format, Args&&... args) const {
    write(LogLevel::error, format, fmt::make_format_args(args...));
  }

  // Writes at level info, even if that is not enabled: for what an operator has requested.
  void requested(const std::string& message) const;

 private:
  void write(LogLevel level, fmt::string_view format, fmt::format_args args) const;

  std::shared_ptr<Log> log_;
  std::string name_;
  std::string prefix_;
};

}  // namespace nodepool::telemetry
