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

// Puts right what others left behind:
//
// * a request that is `pending` though nobody works on it (its launcher died, or gave it up) is
//   `requested` again, and its nodes are free. If its launches have begun, they are left for a
//   while to whoever goes on with them: longer if no other pool could serve the request;
// * a node that is kept for a request which is waiting again is free;
// * a node whose launch had not begun when its launcher died is deleted if its request is gone;
// * what is left of the lock of a request that is gone is removed;
// * a node's record without any content, which a racer for its lock may leave, is removed.
//
// It looks when something happens that may have left such a thing: a pool goes, a request goes;
// and, for those that leave no trace, once in kCleanupInterval while there is something to look at.
class CleanupWorker {
 public:
  CleanupWorker(const WorkerContext& context, const DepartedPools& departed_pools);

  // Begins to work.
  void start();

  // Ends the work in progress.
  Task<> stop();

 private:
  Task<> run();
  void run_soon();
  void observe_changes();
  bool has_something_to_watch() const;
  Task<> wait_until_due();
  Task<> look();
  bool is_deferred_to_peer(const model::NodeRequest& request);
  bool may_be_served_by_others(const model::NodeRequest& request) const;
  Task<> reset_if_lost(std::string request_id);
  Task<> reset_if_pending(std::string request_id, coordination::Lock& lock);
  Task<bool> is_locked(std::string request_id);
  Task<> reset(model::NodeRequest request, coordination::Lock& lock);
  Task<> free_stranded_nodes(std::string request_id);
  Task<> delete_orphans();
  bool is_orphan(const model::Node& node) const;
  Task<bool> free_node(std::string node_id, std::string request_id,
                       coordination::Transaction proof);
  Task<> remove_request_locks();
  Task<> remove_request_lock(std::string request_id);
  Task<> remove_empty_nodes();

  const WorkerContext& context_;
  const DepartedPools& departed_pools_;
  telemetry::Logger log_;
  async::Event wake_{"there is something to clean up"};
  bool look_is_due_ = false;  // without waiting for the interval
  bool is_at_rest_ = false;   // until there is something to watch
  // Pending requests whose launches somebody may go on with, since when nobody does.
  std::map<std::string, async::Clock::TimePoint> interrupted_;
  async::Clock::TimePoint next_look_ = async::Clock::TimePoint::max();  // for one of them
  std::set<std::string> gone_requests_;  // whose locks are to be removed
  bool sweep_due_ = true;                // all locks are to be looked at
  std::vector<coordination::Subscription> subscriptions_;
  async::TaskScope scope_;
};

}  // namespace nodepool::launcher
