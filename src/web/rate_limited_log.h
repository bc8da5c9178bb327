#pragma once

#include <cstddef>
#include <map>
#include <string>

#include "async/runtime.h"
#include "async/task_scope.h"
#include "telemetry/log.h"

namespace nodepool::web {

// Logs warnings about events that clients can cause at any rate: the first one immediately, further
// ones as a count once a minute.
class RateLimitedLog {
 public:
  RateLimitedLog(const async::Runtime& runtime, const telemetry::Logger& log);

  // Logs or counts an event. `text` describes it; its length must be bounded. Above 100 kinds at a
  // time, further ones are counted as one.
  void warn(const std::string& kind, std::string text);

  // Logs the remaining counts.
  async::Task<> stop();

 private:
  struct Repeats {
    std::size_t count = 0;  // since the last message
    std::string last = {};
  };

  async::Task<> follow(std::string kind);
  void log_repeats(const std::string& kind, const Repeats& repeats) const;

  async::Runtime runtime_;
  telemetry::Logger log_;
  std::map<std::string, Repeats> kinds_;  // of the last minute
  async::TaskScope scope_;
};

}  // namespace nodepool::web
