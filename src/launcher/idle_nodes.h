#pragma once

#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "async/task_scope.h"
#include "launcher/context.h"
#include "launcher/pool_identity.h"
#include "launcher/pool_stock.h"

namespace nodepool::launcher {

// Makes room in a full pool: its oldest node that nobody has asked for, of another label than the
// one that is wanted, is deleted. One at a time: not while some node of the pool is being deleted
// anyway, unless that takes long.
class IdleNodes {
 public:
  // `look_again` is called when recycle() may be worth another try though nothing has happened.
  IdleNodes(LauncherContext& context, const PoolIdentity& pool, const PoolStock& stock,
            telemetry::Logger log, async::TaskScope& scope, std::function<void()> look_again);

  // Keeps track of the pool's nodes that are being deleted.
  void on_node(const model::NodeTable::Change& change);

  // Deletes an idle node that carries none of `wanted`, if there is one and it is time.
  void recycle(const std::set<std::string, std::less<>>& labels_of_pool,
               const std::vector<std::string>& wanted);

 private:
  std::optional<std::string> oldest(const std::set<std::string, std::less<>>& labels_of_pool,
                                    const std::vector<std::string>& wanted) const;
  Task<> retire(std::string id);
  Task<> wait(double seconds);

  LauncherContext& context_;
  const PoolIdentity& pool_;
  const PoolStock& stock_;
  telemetry::Logger log_;
  async::TaskScope& scope_;
  std::function<void()> look_again_;
  std::map<std::string, double> deleting_;  // node id -> since when, seconds since the epoch
  bool retiring_ = false;
  bool waiting_ = false;
};

}  // namespace nodepool::launcher
