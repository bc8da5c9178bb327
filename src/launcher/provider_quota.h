#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "async/event.h"
#include "async/runtime.h"
#include "async/task_scope.h"
#include "driver/driver.h"
#include "launcher/provider_launches.h"
#include "model/observers.h"
#include "planning/verdict.h"
#include "telemetry/log.h"

namespace nodepool::launcher {

using async::Task;

// The quota of a provider, refreshed when a decision needs it, and its launches. Shared by the
// provider's pools.
class ProviderQuota {
 public:
  // `launches`: those of the provider that this one replaces, or new ones. Applies the provider's
  // `max-concurrency` to them.
  ProviderQuota(const async::Runtime& runtime, std::shared_ptr<driver::Provider> provider,
                telemetry::Logger log,
                std::shared_ptr<ProviderLaunches> launches = std::make_shared<ProviderLaunches>());

  // Starts querying.
  void start();

  Task<> stop();

  // The provider was replaced or removed. Pools may keep it until its successor has started.
  void leave_service() { is_in_service_ = false; }
  bool is_in_service() const { return is_in_service_; }

  // The provider's last known limits. Returns nothing before its first response. Triggers a refresh
  // if they are stale.
  const std::optional<driver::Limits>& available();

  // The last error of the query; empty: none.
  const std::string& failure() const { return failure_; }

  // The number of queries sent so far.
  std::int64_t queries() const { return queries_; }

  // Whether the provider responds to a query after the first `seen` ones, which callers share.
  // Sends none if the last one has failed: then it does not respond.
  Task<bool> responds(std::int64_t seen);

  // The provider has refused a launch in spite of free quota: suspends launches of this label.
  void refused(const PoolLabel& label);

  // Launches of a label that is not suspended begin.
  void begin_launches(const PoolLabel& label);

  // A machine of the provider was deleted, or others use less.
  void capacity_freed();

  // Those in progress. They outlive this.
  std::shared_ptr<planning::LaunchCount> launches() const { return {launches_, &launches_->count}; }

  // The facts for a decision. Triggers a refresh if the limits are stale, and another one when they
  // become stale: the request may still wait then.
  planning::QuotaFacts facts();

  // Calls `observer` after each query: failure() and the provider's offer() may have changed.
  coordination::Subscription observe_responses(std::function<void()> observer) {
    return responses_.subscribe(std::move(observer));
  }

  // Waits for a slot for one more launch (`max-concurrency`). The slot is held as long as the
  // result lives.
  Task<async::Slots::Hold> launch_slot() { return launches_->slots.take(); }

  // Calls `observer` when capacity may have grown, and after a query that a decision wanted.
  coordination::Subscription observe(std::function<void()> observer) {
    return changes_.subscribe(std::move(observer));
  }

 private:
  Task<> keep_fresh();
  Task<> follow_suspensions();
  Task<> next_response();
  Task<> query();
  bool is_fresh() const;

  async::Runtime runtime_;
  std::shared_ptr<driver::Provider> provider_;
  telemetry::Logger log_;
  std::optional<driver::Limits> available_;
  std::string failure_;
  async::Clock::TimePoint fresh_until_{};
  async::Event wanted_{"the quota is needed"};
  bool was_used_ = false;            // by a decision, since the last response
  std::int64_t queries_ = 0;         // sent
  std::int64_t answered_ = 0;        // the number of the last one that has ended
  std::int64_t known_refusals_ = 0;  // the refusals before the query of the limits was sent
  bool is_querying_ = false;
  bool is_in_service_ = true;
  async::Event query_ended_{"the response to another query of the quota"};
  std::shared_ptr<ProviderLaunches> launches_;
  async::Event suspensions_changed_{"a refused launch"};
  coordination::Subscription launches_ended_;
  coordination::Subscription refusals_;
  model::Observers<> changes_;
  model::Observers<> responses_;
  async::TaskScope scope_;
};

}  // namespace nodepool::launcher
