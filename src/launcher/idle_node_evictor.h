#pragma once

#include <functional>
#include <optional>
#include <string>

#include "async/task_scope.h"
#include "launcher/context.h"
#include "planning/eviction.h"

namespace nodepool::launcher {

// Makes room for the waiting requests of a pool, as planning::choose_eviction() says.
class IdleNodeEvictor {
 public:
  // `reevaluate` is called when there may be room to be made though nothing has happened.
  IdleNodeEvictor(const WorkerContext& context, telemetry::Logger log, async::TaskScope& scope,
                  std::function<void()> reevaluate);

  // A node is being given up: whoever would have another one go is asked again when that is done.
  bool is_busy() const { return retiring_; }

  void carry_out(const planning::Eviction& eviction);

 private:
  void reevaluate_in(async::Duration pause);
  Task<> retire(std::string id);
  Task<> wait_until(async::Clock::TimePoint when);

  const WorkerContext& context_;
  telemetry::Logger log_;
  async::TaskScope& scope_;
  std::function<void()> reevaluate_;
  bool retiring_ = false;
  std::optional<async::Clock::TimePoint> next_evaluation_;  // the earliest of several
};

}  // namespace nodepool::launcher
