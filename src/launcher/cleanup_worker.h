#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "async/event.h"
#include "async/task_scope.h"
#include "coordination/lock.h"
#include "launcher/context.h"

namespace nodepool::launcher {

// Cleans up after other components:
//
// * A `pending` request without a launcher becomes `requested` again, and its nodes are freed. If
//   its launches have started, other launchers first have time to resume them: longer if no other
//   pool could serve the request.
// * A node allocated to a request that waits again is freed.
// * A node whose launch never started is deleted if its request is gone.
// * The lock nodes of deleted requests are removed, each by one launcher.
// * Empty records of nodes, which contenders for a lock may leave, are removed.
//
// Runs when a pool deregisters or a request is deleted, every kCleanupInterval while there are
// records that may need it, and every few hours for all locks of requests.
class CleanupWorker {
 public:
  // `own_pools`: component ids of the pools of this launcher.
  CleanupWorker(const WorkerContext& context, const DepartedPools& departed_pools,
                const std::set<std::string>& own_pools);

  // Starts the work.
  void start();

  // Ends the work in progress.
  Task<> stop();

 private:
  Task<> run();
  void run_soon();
  Task<> sweep_regularly();
  void observe_changes();
  bool has_something_to_watch() const;
  Task<> wait_until_due();
  Task<> clean_up();
  Task<> isolated(Task<> work);
  bool is_deferred_to_peer(const model::NodeRequest& request);
  bool may_be_served_by_others(const model::NodeRequest& request) const;
  Task<> reset_if_lost(std::string request_id);
  Task<> reset_if_pending(std::string request_id, coordination::Lock& lock);
  bool is_discarded(const std::string& node_id) const;
  Task<bool> is_locked(std::string request_id);
  Task<> reset(model::NodeRequest request, coordination::Lock& lock);
  Task<> free_stranded_nodes(std::string request_id);
  Task<> delete_orphans();
  bool is_orphan(const model::Node& node) const;
  Task<bool> free_node(std::string node_id, std::string request_id,
                       coordination::Transaction proof);
  bool falls_to_peer(const std::string& request_id) const;
  Task<> remove_request_locks();
  Task<> remove_request_lock(std::string request_id);
  Task<> remove_empty_nodes();

  const WorkerContext& context_;
  const DepartedPools& departed_pools_;
  const std::set<std::string>& own_pools_;
  telemetry::Logger log_;
  async::Event wake_{"there is something to clean up"};
  bool cleanup_is_due_ = false;  // without waiting for the interval
  bool is_at_rest_ = false;      // waits for changes
  // Pending requests with resumable launches -> since when no launcher serves them.
  std::map<std::string, async::Clock::TimePoint> interrupted_;
  std::string first_failure_;  // of the cleanup in progress
  async::Clock::TimePoint next_cleanup_ = async::Clock::TimePoint::max();  // for interrupted_
  std::set<std::string> gone_requests_;                                    // with locks to remove
  bool sweep_due_ = true;                                                  // check all locks
  std::vector<coordination::Subscription> subscriptions_;
  async::TaskScope scope_;
};

}  // namespace nodepool::launcher
