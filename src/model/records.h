#pragma once

#include <functional>
#include <map>
#include <set>
#include <string>

#include "async/task_scope.h"
#include "model/component_table.h"
#include "model/host_table.h"
#include "model/image_table.h"
#include "model/node_table.h"
#include "model/request_table.h"

namespace nodepool::model {

// The records that a process keeps in memory: a table for each kind, some of which follow the
// store.
class Records {
 public:
  enum class Kind { nodes, requests, components, images, hosts };
  using Kinds = std::set<Kind>;
  // All kinds that decisions need; hosts are only displayed.
  static Kinds all() { return {Kind::nodes, Kind::requests, Kind::components, Kind::images}; }

  Records(const async::Runtime& runtime, coordination::Store& store, const telemetry::Logger& log);
  Records(const Records&) = delete;
  Records& operator=(const Records&) = delete;

  NodeTable nodes;
  RequestTable requests;
  ComponentTable components;
  ImageTable images;
  HostTable hosts;

  // Creates the roots of these records if missing. Throws StoreError.
  async::Task<> make_roots(Kinds kinds);

  // Starts to follow these tables with tasks of `scope`. Skips tables that are followed already.
  void follow(async::TaskScope& scope, const Kinds& kinds);

  // Whether all followed tables are complete. No decision may be based on incomplete tables.
  bool ready() const;

  // Calls `observer` with ready() when a table has become complete, or has lost the store. For the
  // tables that are followed now.
  coordination::Subscription observe_readiness(std::function<void(bool)> observer);

  // Calls `observer` when all tables that are followed now have become complete.
  coordination::Subscription observe_ready(std::function<void()> observer);

  // Waits until ready(). Throws Cancelled.
  async::Task<> until_ready();

  // The same, at most until `deadline`. Returns whether they are ready. Throws Cancelled.
  async::Task<bool> ready_by(async::Clock::TimePoint deadline);

  // Waits before a retry: for `pause`, or until the tables become complete again after an outage.
  // Throws Cancelled.
  async::Task<> pause_before_retry(async::Duration pause);

 private:
  async::Runtime runtime_;
  coordination::Store& store_;
  std::map<Kind, FollowedTree*> tables_;
  Kinds followed_;
};

}  // namespace nodepool::model
