#pragma once

#include <optional>
#include <set>
#include <string>
#include <vector>

#include "async/task_scope.h"
#include "coordination/lock.h"
#include "launcher/context.h"
#include "launcher/peer_deferral.h"
#include "launcher/providers.h"

namespace nodepool::launcher {

// Takes nodes back: those that are used, failed or abandoned go to their provider, which deletes
// the machine or makes it ready again; those that were allocated to a request that is gone become
// free. It acts on the change that makes a node due, not by looking through all nodes.
class DeletedNodeWorker {
 public:
  // `own_pools`: component ids of the pools of this launcher.
  DeletedNodeWorker(const WorkerContext& context, const Providers& providers,
                    const std::set<std::string>& own_pools);

  // Begins to work.
  void start();

  // Looks at all nodes of a provider, when it has come into service.
  void reevaluate_provider(const std::string& provider);

  // Ends the work in progress, releasing its locks.
  Task<> stop();

 private:
  enum class Duty { none, reclaim, free };

  void reevaluate(const std::string& id);
  Duty duty(const model::Node& node) const;
  bool can_be_resumed(const model::Node& node) const;
  bool falls_to_peer(const model::Node& node) const;
  bool defers_to_peer(const model::Node& node);
  Task<> process(std::string id);
  // These return false if the store says otherwise than the table: there was nothing to do.
  Task<bool> reclaim_under_lock(std::string id);
  Task<bool> reclaim_if_due(std::string id, coordination::Lock& lock);
  Task<bool> free(std::string id);
  Task<std::optional<model::Node>> read(std::string id);
  Task<bool> is_leased(const model::Node& node, const coordination::Lock& lock);
  Task<> reclaim(model::Node node, coordination::Lock& lock);
  Task<> replace(const model::Node& node, std::optional<model::Node> replacement,
                 coordination::Lock& lock);

  const WorkerContext& context_;
  const Providers& providers_;
  const std::set<std::string>& own_pools_;
  telemetry::Logger log_;
  std::set<std::string, std::less<>> in_hand_;
  std::set<std::string, std::less<>> refused_;  // nodes of which the table was wrong last time
  // Nodes left to another launcher that serves their provider, or to the pool worker that goes on
  // with their launch.
  PeerDeferral left_to_others_;
  std::vector<coordination::Subscription> subscriptions_;
  async::TaskScope scope_;
};

}  // namespace nodepool::launcher
