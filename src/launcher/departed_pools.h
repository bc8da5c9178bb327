#pragma once

#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "async/clock.h"
#include "driver/driver.h"
#include "model/component_table.h"
#include "model/node_request.h"
#include "model/node_table.h"
#include "model/observers.h"

namespace nodepool::launcher {

// The pools that deregistered recently and may return: their launcher restarts, or lost its
// session. A request that only they could serve waits for them for `pool-timeout` before it fails.
// A request for unknown labels fails at once.
//
// Pools that departed before this launcher started are known by their nodes: for `pool-timeout`
// after the start, an unregistered pool with nodes counts as departed.
//
// A configured pool of this launcher is expected as long as it is not registered: its provider
// cannot start yet, and the start is retried. Exceptions: planning::unserved_pool_of().
class DepartedPools {
 public:
  using TimePoint = async::Clock::TimePoint;

  // The time that requests wait for a departed pool.
  void set_timeout(async::Duration timeout) { timeout_ = timeout; }
  async::Duration timeout() const { return timeout_; }

  // Departures are observed from now on.
  void begin(TimePoint now) { begun_ = now; }

  // By name.
  using Providers = std::map<std::string, std::shared_ptr<const driver::ProviderConfig>>;

  // The providers of this launcher's configuration.
  void set_configured(Providers providers) { configured_ = std::move(providers); }

  // A pool deregistered.
  void left(const model::Component& pool, TimePoint now);

  // The pool is no longer configured, and will not return.
  void forget(const std::string& id) { forgotten_.insert(id); }

  // The departed pool that a request declined by all registered pools waits for; empty if there is
  // none.
  std::string expected_for(const model::NodeRequest& request,
                           const std::vector<const model::Component*>& registered,
                           const model::NodeTable& nodes, TimePoint now) const;

  // Calls `observer` when the timeout of a pool may be over.
  coordination::Subscription observe(std::function<void()> observer) {
    return changes_.subscribe(std::move(observer));
  }
  void notify() { changes_.notify(); }

 private:
  struct Absence {
    model::Component pool;
    TimePoint since;
  };

  bool counts(TimePoint since, TimePoint now) const { return now < since + timeout_; }

  async::Duration timeout_{};
  TimePoint begun_{};
  std::map<std::string, Absence> absent_;  // by the pool's id
  Providers configured_;
  std::set<std::string> forgotten_;
  model::Observers<> changes_;
};

}  // namespace nodepool::launcher
