#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <utility>

#include "async/runtime.h"
#include "coordination/tree_cache.h"
#include "model/observers.h"

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

  // Calls `observer` when the table becomes complete (true), or loses the store (false).
  coordination::Subscription observe_readiness(std::function<void(bool)> observer) {
    return readiness_.subscribe(std::move(observer));
  }

 protected:
  FollowedTree(const async::Runtime& runtime, coordination::Store& store, std::string_view root)
      : cache_(runtime, store, std::string(root), *this) {}

  void on_ready() override { readiness_.notify(true); }
  void on_lost() override { readiness_.notify(false); }

  coordination::TreeCache& cache() { return cache_; }
  const coordination::TreeCache& cache() const { return cache_; }

 private:
  coordination::TreeCache cache_;
  Observers<bool> readiness_;
};

}  // namespace nodepool::model
