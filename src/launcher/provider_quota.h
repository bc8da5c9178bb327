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

// What is known of the room that one provider has: the answer of its cloud, refreshed when somebody
// decides by it, and the launches under way. Shared by the provider's pools.
class ProviderQuota {
 public:
  ProviderQuota(const async::Runtime& runtime, std::shared_ptr<driver::Provider> provider,
                telemetry::Logger log);

  // Begins to ask.
  void start();

  Task<> stop();

  // The provider's limits as last heard; nothing if it has not answered yet. Has them refreshed if
  // they have become old.
  const std::optional<driver::Limits>& available();

  // Why there is no answer: the last error; empty while the first is awaited.
  const std::string& failure() const { return failure_; }

  // The provider has refused a launch though there seemed to be room.
  void refused();

  // Whether it has, and nothing has changed since: nothing more is launched until a machine goes,
  // the limits change, or some time has passed.
  bool is_refusing() const { return runtime_.clock.now() < refusing_until_; }

  // A machine of the provider is gone: it may have room again.
  void machine_gone();

  const std::shared_ptr<planning::LaunchCount>& launches() const { return launches_; }

  // What a decision takes into account of it; has the limits refreshed if they have become old.
  planning::QuotaFacts facts();

  // Calls `observer` when the cloud has been asked, whatever came of it: what failure() and the
  // provider's label_problem() say may be another.
  coordination::Subscription observe_answers(std::function<void()> observer) {
    return answers_.subscribe(std::move(observer));
  }

  // Returns when one more launch may run at the same time (`max-concurrency`), for as long as the
  // result lives.
  Task<std::optional<async::Slots::Hold>> launch_slot();

  // Calls `observer` when there may be more room than before.
  coordination::Subscription observe(std::function<void()> observer) {
    return changes_.subscribe(std::move(observer));
  }

 private:
  Task<> keep_fresh();
  Task<> ask();
  void end_refusal_at(async::Clock::TimePoint when);
  Task<> refresh_at(async::Clock::TimePoint when);

  async::Runtime runtime_;
  std::shared_ptr<driver::Provider> provider_;
  telemetry::Logger log_;
  std::optional<driver::Limits> available_;
  std::string failure_;
  async::Clock::TimePoint fresh_until_{};
  async::Event wanted_{"somebody asks for the quota"};
  async::Clock::TimePoint refused_at_{};
  async::Clock::TimePoint refusing_until_{};
  std::shared_ptr<planning::LaunchCount> launches_ = std::make_shared<planning::LaunchCount>();
  coordination::Subscription launches_ended_;
  std::optional<async::Slots> launch_slots_;  // nothing: unlimited
  model::Observers<> changes_;
  model::Observers<> answers_;
  async::TaskScope scope_;
};

}  // namespace nodepool::launcher
