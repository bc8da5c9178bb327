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

// The records of the store that a process keeps in memory: a table of each kind, of which it
// follows those that it needs.
class Records {
 public:
  enum class Kind { nodes, requests, components, images, hosts };
  using Kinds = std::set<Kind>;
  // What decisions are based on: hosts are only shown.
  static Kinds all() { return {Kind::nodes, Kind::requests, Kind::components, Kind::images}; }

  Records(const async::Runtime& runtime, coordination::Store& store, const telemetry::Logger& log);
  Records(const Records&) = delete;
  Records& operator=(const Records&) = delete;

  NodeTable nodes;
  RequestTable requests;
  ComponentTable components;
  ImageTable images;
  HostTable hosts;

  // Makes what these records live in, if it is not there. Throws StoreError.
  async::Task<> make_roots(Kinds kinds);

  // Begins to follow these tables, with tasks of `scope`; those that are followed already are left
  // as they are.
  void follow(async::TaskScope& scope, const Kinds& kinds);

  // Whether all that are followed are complete; without that, no decision may be based on them.
  bool ready() const;

  // Calls `observer` when all that are followed now have become complete, whichever was the last.
  coordination::Subscription observe_ready(std::function<void()> observer);

  // Returns when they are. Throws Cancelled.
  async::Task<> until_ready();

  // Before another attempt at what has failed: `pause`, but no longer than until a store that was
  // out of reach is back. Throws Cancelled.
  async::Task<> pause_before_retry(async::Duration pause);

 private:
  async::Runtime runtime_;
  coordination::Store& store_;
  std::map<Kind, FollowedTree*> tables_;
  Kinds followed_;
};

}  // namespace nodepool::model
