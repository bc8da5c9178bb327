#pragma once

#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "async/task_scope.h"
#include "launcher/context.h"
#include "planning/decision.h"
#include "planning/pool_identity.h"
#include "planning/pool_stock.h"

namespace nodepool::launcher {

using planning::PoolIdentity;
using planning::PoolStock;

// Makes room for a waiting request: the pool's oldest node that nobody has asked for is deleted.
// Nodes of other pools are theirs to give up, unless the request has waited long for room that
// these have: nothing else might ever end it. One at a time: not while some node that counts for
// the same limit is being deleted anyway, unless that takes long.
class IdleNodes {
 public:
  // `look_again` is called when recycle() may be worth another try though nothing has happened.
  IdleNodes(LauncherContext& context, const PoolIdentity& pool, const PoolStock& stock,
            telemetry::Logger log, async::TaskScope& scope, std::function<void()> look_again);

  // Keeps track of the provider's nodes that are being deleted.
  void on_node(const model::NodeTable::Change& change);

  // Deletes an idle node of the pool, of `tenant` if that is who is at its limit, if there is one
  // and it is time; but none of `plan`, which the waiting request is going to have. It was made at
  // `since`, in seconds since the epoch.
  void recycle(planning::Decision::Shortage shortage, const std::string& tenant,
               const std::vector<std::string>& plan, double since);

 private:
  // For whom a node that is being deleted counts, and since when it is, in seconds since the epoch.
  struct Deletion {
    std::string provider;
    std::string pool;
    std::string tenant;
    double since = 0;
  };
  using Times = std::multiset<double>;
  using Pools = std::set<std::pair<std::string, std::string>>;  // provider, name

  void forget_deletion(const std::string& id);
  double latest_deletion(planning::Decision::Shortage shortage, const std::string& tenant) const;
  std::optional<std::string> oldest(planning::Decision::Shortage shortage,
                                    const std::string& tenant, const std::vector<std::string>& plan,
                                    const Pools& pools) const;
  Pools others_at_the_limit(planning::Decision::Shortage shortage) const;
  void look_again_in(double seconds);
  Task<> retire(std::string id);
  Task<> wait(double seconds);

  LauncherContext& context_;
  const PoolIdentity& pool_;
  const PoolStock& stock_;
  telemetry::Logger log_;
  async::TaskScope& scope_;
  std::function<void()> look_again_;
  // Nodes that are being deleted, by id, and since when: those of the provider, of each of its
  // pools, and of each tenant.
  std::map<std::string, Deletion> deleting_;
  Times times_;
  std::map<std::string, Times> times_by_pool_;
  std::map<std::string, Times> times_by_tenant_;
  bool retiring_ = false;
  bool waiting_ = false;
};

}  // namespace nodepool::launcher
