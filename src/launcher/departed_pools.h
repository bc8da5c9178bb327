#pragma once

#include <chrono>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "async/clock.h"
#include "model/component_table.h"
#include "model/node_request.h"
#include "model/node_table.h"
#include "model/observers.h"

namespace nodepool::launcher {

// The pools that have left the registry lately and may be back: their launcher is restarted, or has
// lost its session. A request that only they could serve waits for them a while (`pool-timeout`)
// before it fails; one for labels of which nothing is known fails at once.
//
// What has left before this launcher began to look shows in the records of nodes: for as long after
// the beginning, a pool that has nodes is taken for one that has just left.
class DepartedPools {
 public:
  using TimePoint = async::Clock::TimePoint;

  // How long pools are waited for.
  void set_patience(async::Duration patience) { patience_ = patience; }
  async::Duration patience() const { return patience_; }

  // From now on everything that leaves is seen.
  void begin(TimePoint now) { begun_ = now; }

  // A pool is no longer registered.
  void left(const model::Component& pool, TimePoint now);

  // The pool is about to leave for good: it is no longer configured.
  void forget(const std::string& id) { forgotten_.insert(id); }

  // The pool that the request, which all registered pools have declined, is to wait for; empty if
  // there is none.
  std::string expected_for(const model::NodeRequest& request,
                           const std::vector<const model::Component*>& registered,
                           const model::NodeTable& nodes, TimePoint now) const;

  // Calls `observer` when some pool may have been waited for long enough.
  coordination::Subscription observe(std::function<void()> observer) {
    return changes_.subscribe(std::move(observer));
  }
  void time_has_passed() { changes_.notify(); }

 private:
  struct Absence {
    model::Component pool;
    TimePoint since;
  };

  bool counts(TimePoint since, TimePoint now) const { return now < since + patience_; }

  async::Duration patience_{};
  TimePoint begun_{};
  std::map<std::string, Absence> absent_;  // by the pool's id
  std::set<std::string> forgotten_;
  model::Observers<> changes_;
};

}  // namespace nodepool::launcher
