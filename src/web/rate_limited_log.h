#pragma once

#include <cstddef>
#include <map>
#include <string>

#include "async/runtime.h"
#include "async/task_scope.h"
#include "telemetry/log.h"

namespace nodepool::web {

// Logs warnings about events that clients can cause at any rate: the first one at once, the
// following ones once a minute as a count.
class RateLimitedLog {
 public:
  RateLimitedLog(const async::Runtime& runtime, const telemetry::Logger& log);

  // Logs or counts an event. `text` describes it, in a bounded length. Beyond 100 kinds at a time,
  // further ones are counted as one.
  void warn(const std::string& kind, std::string text);

  // Logs the counts that were not logged yet.
  async::Task<> stop();

 private:
  struct Since {
    std::size_t count = 0;  // since the last line
    std::string last = {};
  };

  async::Task<> follow(std::string kind);
  void say(const std::string& kind, const Since& since) const;

  async::Runtime runtime_;
  telemetry::Logger log_;
  std::map<std::string, Since> kinds_;  // of the last minute
  async::TaskScope scope_;
};

}  // namespace nodepool::web
