#pragma once

#include <fmt/core.h>

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "telemetry/log_file.h"

namespace nodepool::telemetry {

enum class LogLevel { debug, info, warning, error, critical, off };

// Parses Python's level names (DEBUG, INFO, WARNING or WARN, ERROR, CRITICAL or FATAL), in any
// case.
std::optional<LogLevel> parse_log_level(std::string_view name);

struct LogOptions {
  enum class Target { standard_output, standard_error, file };
  Target target = Target::standard_error;
  std::string file;           // for Target::file: appended to; reopened after an external rotation
  LogRotation rotation = {};  // of the file

  // The level of each logger, by the longest matching dotted prefix of its name; "" is the root.
  std::map<std::string, LogLevel, std::less<>> levels{{"", LogLevel::info}};
};

class Logger;

// Writes the messages of a process. The lines have the form of the Python Nodepool's:
//
//   2026-11-21 04:40:12,345 INFO nodepool.PoolWorker.rack-main: [e: 5f0c…] [node_request: 200-…]
//   text
//
// Further lines of a message repeat the prefix and indent the text by two spaces. On a stream to
// systemd's journal, each line begins with its priority, such as "<6>", which the journal takes
// off.
class Log {
 public:
  // Throws std::runtime_error if the file cannot be opened, except on a full file system.
  explicit Log(LogOptions options);

  // Passes every message that would be written to `consume` instead, for tests. `consume` may
  // throw, like an output that fails.
  using Consumer =
      std::function<void(LogLevel level, std::string_view logger, std::string_view message)>;
  static std::shared_ptr<Log> to_consumer(Consumer consume, LogLevel level = LogLevel::debug);

  ~Log();
  Log(const Log&) = delete;
  Log& operator=(const Log&) = delete;

  bool enabled(std::string_view logger, LogLevel level) const;

  // Writes one message, also at a level that is not enabled. Callable from any thread. Does not
  // throw if the output fails: the message is dropped and counted, and the number is logged before
  // the next message that can be written.
  void write(std::string_view logger, LogLevel level, std::string_view message);

  struct Losses {
    std::uint64_t messages = 0;  // since the start
    std::string trouble = {};    // why the last message was dropped; empty: it was written
  };
  // Callable from any thread.
  Losses losses() const;

 private:
  Log(LogOptions options, Consumer consume);
  void put(std::string_view logger, LogLevel level, std::string_view message);

  LogOptions options_;
  Consumer consume_;
  struct Output;
  std::unique_ptr<Output> output_;
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
