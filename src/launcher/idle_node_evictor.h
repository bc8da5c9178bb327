#pragma once

#include <functional>
#include <optional>
#include <string>

#include "async/task_scope.h"
#include "launcher/context.h"
#include "planning/eviction.h"

namespace nodepool::launcher {

// Evicts idle nodes for the waiting requests of a pool, as planning::choose_eviction() decides.
class IdleNodeEvictor {
 public:
  // `reevaluate` is called when an eviction ends, or may have become possible by time alone.
  IdleNodeEvictor(const ServingContext& context, telemetry::Logger log, async::TaskScope& scope,
                  std::function<void()> reevaluate);

  // Whether an eviction is in progress. `reevaluate` is called when it ends.
  bool is_busy() const { return retiring_; }

  // Evicts the node only if `is_wanted` then: another pool may have taken the waiting request.
  void carry_out(const planning::Eviction& eviction, std::function<bool()> is_wanted);

 private:
  void reevaluate_in(async::Duration pause);
  Task<> retire(std::string id, std::function<bool()> is_wanted);
  Task<bool> retire_idle(std::string id);
  Task<> wait_until(async::Clock::TimePoint when);

  const ServingContext& context_;
  telemetry::Logger log_;
  async::TaskScope& scope_;
  std::function<void()> reevaluate_;
  bool retiring_ = false;
  std::optional<async::Clock::TimePoint> next_evaluation_;  // the earliest of several
};

}  // namespace nodepool::launcher
