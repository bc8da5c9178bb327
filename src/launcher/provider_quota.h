#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "async/event.h"
#include "async/runtime.h"
#include "async/slots.h"
#include "async/task_scope.h"
#include "driver/driver.h"
#include "model/observers.h"
#include "planning/verdict.h"
#include "telemetry/log.h"

namespace nodepool::launcher {

using async::Task;

// The quota of a provider, refreshed when a decision needs it, and its launches in progress. Shared
// by the provider's pools.
class ProviderQuota {
 public:
  ProviderQuota(const async::Runtime& runtime, std::shared_ptr<driver::Provider> provider,
                telemetry::Logger log);

  // Starts querying.
  void start();

  Task<> stop();

  // The provider's last known limits. Returns nothing before its first response. Triggers a refresh
  // if they are stale.
  const std::optional<driver::Limits>& available();

  // The last error of the query; empty: none.
  const std::string& failure() const { return failure_; }

  // Queries the provider now, unless the last query has failed. Returns whether it responds.
  Task<bool> responds();

  // The provider has refused a launch in spite of free quota.
  void refused();

  // Whether launches are suspended after a refusal, until a machine is deleted, a limit grows, or a
  // timeout.
  bool is_refusing() const { return runtime_.clock.now() < refusing_until_; }

  // A machine of the provider was deleted, or others use less.
  void capacity_freed();

  const std::shared_ptr<planning::LaunchCount>& launches() const { return launches_; }

  // The facts for a decision. Triggers a refresh if the limits are stale, and another one when they
  // become stale: the request may still wait then.
  planning::QuotaFacts facts();

  // Calls `observer` after each query: failure() and the provider's offer() may have changed.
  coordination::Subscription observe_responses(std::function<void()> observer) {
    return responses_.subscribe(std::move(observer));
  }

  // Waits for a slot for one more launch (`max-concurrency`). The slot is held as long as the
  // result lives.
  Task<std::optional<async::Slots::Hold>> launch_slot();

  // Calls `observer` when capacity may have grown, and after a query that a decision wanted.
  coordination::Subscription observe(std::function<void()> observer) {
    return changes_.subscribe(std::move(observer));
  }

 private:
  Task<> keep_fresh();
  Task<> query();
  void end_refusal_at(async::Clock::TimePoint when);
  Task<> refresh_at(async::Clock::TimePoint when);

  async::Runtime runtime_;
  std::shared_ptr<driver::Provider> provider_;
  telemetry::Logger log_;
  std::optional<driver::Limits> available_;
  std::string failure_;
  async::Clock::TimePoint fresh_until_{};
  async::Event wanted_{"the quota is needed"};
  bool was_used_ = false;  // by a decision, since the last response
  async::Clock::TimePoint refused_at_{};
  async::Clock::TimePoint refusing_until_{};
  std::shared_ptr<planning::LaunchCount> launches_ = std::make_shared<planning::LaunchCount>();
  coordination::Subscription launches_ended_;
  std::optional<async::Slots> launch_slots_;  // nothing: unlimited
  model::Observers<> changes_;
  model::Observers<> responses_;
  async::TaskScope scope_;
};

}  // namespace nodepool::launcher
