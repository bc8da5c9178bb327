#pragma once

#include <exception>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "async/backoff.h"
#include "async/task_scope.h"
#include "coordination/lock.h"
#include "launcher/context.h"
#include "launcher/peer_deferral.h"
#include "launcher/providers.h"
#include "launcher/retry_pauses.h"

namespace nodepool::launcher {

// Reclaims used, failed and abandoned nodes: their provider deletes the machine or makes it ready
// again. Leaves launches alone that can be resumed. Frees nodes that are allocated to deleted or
// failed requests. Reacts to changes instead of polling all nodes.
class DeletedNodeWorker {
 public:
  // `own_pools`: component ids of the pools of this launcher.
  DeletedNodeWorker(const WorkerContext& context, HistoryRecorder& history,
                    const Providers& providers, const std::set<std::string>& own_pools);

  // Starts the work.
  void start();

  // Checks all nodes of a provider that was started, without waiting for the end of back-offs.
  void reevaluate_provider(const std::string& provider);

  // Ends the work in progress, releasing its locks.
  Task<> stop();

 private:
  enum class Duty { none, reclaim, free };

  // The last failure of the provider to reclaim a node.
  struct Failure {
    async::Backoff pauses;
    async::Clock::TimePoint retry_at = {};
    // The newest one in the log and the history.
    std::string reported = {};
    std::optional<async::Clock::TimePoint> reported_at = {};
  };

  void reevaluate(const std::string& id);
  Duty duty(const model::Node& node) const;
  bool is_resumable(const model::Node& node) const;
  bool falls_to_peer(const model::Node& node) const;
  bool defers_to_peer(const model::Node& node);
  bool backs_off(const std::string& id) const;
  Task<> process(std::string id);
  void note_failure(const std::string& id, const std::exception& error);
  // These return false if the table was stale and there was nothing to do.
  Task<bool> reclaim_under_lock(std::string id);
  Task<bool> reclaim_if_due(std::string id, coordination::Lock& lock);
  Task<bool> free(std::string id);
  Task<bool> is_leased(const model::Node& node, const coordination::Lock& lock);
  Task<> reclaim(model::Node node, coordination::Lock& lock);

  const WorkerContext& context_;
  HistoryRecorder& history_;
  const Providers& providers_;
  const std::set<std::string>& own_pools_;
  telemetry::Logger log_;
  std::set<std::string, std::less<>> in_progress_;
  RetryPauses retries_;  // of nodes for which the table was stale
  // By node. Forgotten when the node is released anew.
  std::map<std::string, Failure, std::less<>> failures_;
  PeerDeferral deferral_;  // of nodes left to another launcher of their provider
  std::vector<coordination::Subscription> subscriptions_;
  async::TaskScope scope_;
};

}  // namespace nodepool::launcher
