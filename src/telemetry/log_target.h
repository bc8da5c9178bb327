#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <string>

#include "telemetry/log_file.h"
#include "telemetry/log_format.h"
#include "telemetry/log_level.h"
#include "telemetry/log_record.h"

namespace nodepool::telemetry {

struct LogTargetOptions {
  enum class Kind { standard_output, standard_error, file };
  Kind kind = Kind::standard_error;
  std::string file = {};      // for Kind::file: appended to; reopened after an external rotation
  LogRotation rotation = {};  // of the file
  std::chrono::milliseconds patience{500};  // with the reader of a stream; negative: without limit
  LogLevel level = LogLevel::debug;         // the least that it takes
  LogFormatOptions format = {};
};

// Messages that could not be written.
struct LogLosses {
  std::uint64_t messages = 0;  // since the start
  std::string trouble = {};    // why the last message was dropped; empty: it was written
};

// One destination of a log: a stream or a file. On a stream to systemd's journal, each line begins
// with its priority, such as "<6>", which the journal takes off. Not thread-safe.
class LogTarget {
 public:
  // Opens a file at once. If it cannot, that is the trouble of losses(), except for a full file
  // system, and write() retries.
  explicit LogTarget(const LogTargetOptions& options);

  // Passes every message to `put`, which may throw.
  using Put = std::function<void(const LogRecord& record)>;
  explicit LogTarget(Put put);

  // Its file, or its stream; empty for others.
  const std::string& name() const { return name_; }

  bool is_file() const { return is_file_; }

  LogLevel level() const { return level_; }

  // Writes a message of any level. Does not throw if the output fails: the message is dropped and
  // counted, and the number is written before the next message that can be written.
  void write(const LogRecord& record);

  // If the target failed, writes the number of dropped messages, to find out whether it works
  // again.
  void retry(std::chrono::system_clock::time_point now);

  const LogLosses& losses() const { return losses_; }

 private:
  void open_file(const LogTargetOptions& options);
  void open_stream(int descriptor, std::string name, const LogTargetOptions& options);
  void attempt(const LogRecord& record);

  std::string name_;
  bool is_file_ = false;
  LogLevel level_ = LogLevel::debug;
  Put put_;
  LogLosses losses_;
  std::uint64_t reported_ = 0;  // of the dropped messages
};

}  // namespace nodepool::telemetry
