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

// Answers SIGUSR2 with what the process is doing: the stacks of its threads, and the tasks of its
// event loop with what each of them waits for. The stacks come from a thread of its own, so that
// they come when the event loop hangs, too; the tasks follow as soon as it runs.
//
// That thread also looks now and then whether the loop turns, and logs the same, once, when it has
// been standing still for too long.
class StackDump {
 public:
  struct LoopWatch {
    // Between two looks; a loop that has not turned from one to the next one stands still.
    async::Duration pause{};  // 0: nobody looks
    // Is called on the loop: how long a look has waited for its turn there. It outlives the loop.
    std::function<void(async::Duration lag)> turned = {};
  };

  // `log` gets the dumps: at level info, and of a loop that stands still at level error. `runtime`
  // is that of the tasks. Takes SIGUSR2 and SIGRTMIN over from here on.
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

// The part of a dump about tasks, one line for each task and below it one for each of its waits.
std::string describe(const std::vector<async::LiveTask>& tasks);

}  // namespace nodepool::telemetry
