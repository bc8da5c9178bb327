#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <utility>

#include "async/runtime.h"
#include "coordination/tree_cache.h"
#include "model/observers.h"
#include "telemetry/log.h"

namespace nodepool::model {

// A tree of the store that a table follows; the table is the listener.
class FollowedTree : protected coordination::TreeListener {
 public:
  // Follows the store until it is cancelled: spawn it in the owner's scope.
  async::Task<> run() { return cache_.run(); }

  // Whether the table is complete. No decision may be based on an incomplete table.
  bool ready() const { return cache_.ready(); }

  // The number of changes that it has not processed yet.
  std::size_t queued() const { return cache_.queued(); }

  // Calls `observer` with the reason when the table cannot be read, not because of an outage. It is
  // read again later.
  coordination::Subscription observe_failures(std::function<void(const std::string&)> observer) {
    return failures_.subscribe(std::move(observer));
  }

  // Calls `observer` when the table becomes complete (true), or loses the store (false).
  coordination::Subscription observe_readiness(std::function<void(bool)> observer) {
    return readiness_.subscribe(std::move(observer));
  }

 protected:
  FollowedTree(const async::Runtime& runtime, coordination::Store& store, std::string_view root,
               telemetry::Logger log)
      : root_(root), log_(std::move(log)), cache_(runtime, store, std::string(root), *this) {}

  void on_ready() override {
    failure_.clear();
    readiness_.notify(true);
  }
  void on_lost() override { readiness_.notify(false); }

  // Logs each reason once.
  void on_failed(const std::string& reason) override {
    failures_.notify(reason);
    if (std::exchange(failure_, reason) == reason) return;
    log_.warning("Error reading the records below {}, retrying: {}", root_, reason);
  }

  coordination::TreeCache& cache() { return cache_; }
  const coordination::TreeCache& cache() const { return cache_; }

 private:
  std::string root_;
  telemetry::Logger log_;
  std::string failure_;  // why it has not been complete since on_ready()
  coordination::TreeCache cache_;
  Observers<bool> readiness_;
  Observers<const std::string&> failures_;
};

}  // namespace nodepool::model
