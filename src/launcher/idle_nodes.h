#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "async/task_scope.h"
#include "decision/decision.h"
#include "launcher/context.h"
#include "launcher/pool_identity.h"
#include "launcher/pool_stock.h"

namespace nodepool::launcher {

// Makes room in a full pool, or in its provider: the oldest node there that nobody has asked for is
// deleted. One at a time: not while some node there is being deleted anyway, unless that takes
// long.
class IdleNodes {
 public:
  // `look_again` is called when recycle() may be worth another try though nothing has happened.
  IdleNodes(LauncherContext& context, const PoolIdentity& pool, const PoolStock& stock,
            telemetry::Logger log, async::TaskScope& scope, std::function<void()> look_again);

  // Keeps track of the provider's nodes that are being deleted.
  void on_node(const model::NodeTable::Change& change);

  // Deletes an idle node of the pool or of any pool of its provider, if there is one and it is
  // time; but none of `plan`, which the waiting request is going to have.
  void recycle(decision::Decision::Shortage shortage, const std::vector<std::string>& plan);

 private:
  // A node that is being deleted.
  struct Deletion {
    std::string pool;
    double since;  // seconds since the epoch
  };

  std::optional<std::string> oldest(decision::Decision::Shortage shortage,
                                    const std::vector<std::string>& plan) const;
  bool is_short(decision::Decision::Shortage shortage, std::string_view pool) const;
  Task<> retire(std::string id);
  Task<> wait(double seconds);

  LauncherContext& context_;
  const PoolIdentity& pool_;
  const PoolStock& stock_;
  telemetry::Logger log_;
  async::TaskScope& scope_;
  std::function<void()> look_again_;
  std::map<std::string, Deletion> deleting_;  // by node id
  bool retiring_ = false;
  bool waiting_ = false;
};

}  // namespace nodepool::launcher
