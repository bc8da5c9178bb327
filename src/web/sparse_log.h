#pragma once

#include <cstddef>
#include <map>
#include <string>

#include "async/runtime.h"
#include "async/task_scope.h"
#include "telemetry/log.h"

namespace nodepool::web {

// Warns of what others can make happen as often as they like: at once when it happens first, and
// then once a minute, with how often it has.
class SparseLog {
 public:
  SparseLog(const async::Runtime& runtime, const telemetry::Logger& log);

  // `kind` is one of few; `text` is what has happened this time, of a bounded length.
  void warn(const std::string& kind, std::string text);

  // Says what has not been said yet.
  async::Task<> stop();

 private:
  struct Since {
    std::size_t count = 0;  // since it was said last
    std::string last = {};
  };

  async::Task<> follow(std::string kind);
  void say(const std::string& kind, const Since& since) const;

  async::Runtime runtime_;
  telemetry::Logger log_;
  std::map<std::string, Since> kinds_;  // that have happened within the last minute
  async::TaskScope scope_;
};

}  // namespace nodepool::web
