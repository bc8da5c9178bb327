#pragma once

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "async/live_tasks.h"
#include "async/runtime.h"
#include "telemetry/log.h"

namespace nodepool::telemetry {

// Logs a dump on SIGUSR2: the stacks of all threads, and the tasks of the event loop with their
// waits. A separate thread writes the stacks, so that they appear even if the event loop hangs; the
// tasks follow when the loop runs.
//
// That thread is also a watchdog: it logs the same, once, when the loop has been blocked for too
// long.
class StackDump {
 public:
  struct LoopWatch {
    // The interval of the checks. A loop that does not run during one is blocked.
    async::Duration pause{};  // 0: no watchdog
    // Called on the loop with the time that a check has waited for the loop. May be called as long
    // as the loop exists.
    std::function<void(async::Duration lag)> turned = {};
  };

  // `log` gets dumps at level info, even if that is not enabled, and those of a blocked loop at
  // level error. `runtime` is the one of the tasks. Takes over SIGUSR2 and SIGRTMIN.
  StackDump(const async::Runtime& runtime, Logger log, LoopWatch watch);
  StackDump(const async::Runtime& runtime, Logger log)
      : StackDump(runtime, std::move(log), LoopWatch{}) {}
  ~StackDump();
  StackDump(const StackDump&) = delete;
  StackDump& operator=(const StackDump&) = delete;

 private:
  struct Responder;
  std::unique_ptr<Responder> responder_;
};

// The tasks of a dump: a line for each task, followed by a line for each of its waits.
std::string describe(const std::vector<async::LiveTask>& tasks);

}  // namespace nodepool::telemetry
