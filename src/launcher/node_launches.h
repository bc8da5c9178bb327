#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "async/event.h"
#include "async/task_scope.h"
#include "coordination/lock_set.h"
#include "driver/launch_stages.h"
#include "launcher/context.h"
#include "launcher/providers.h"
#include "planning/pool_identity.h"
#include "planning/verdict.h"

namespace nodepool::launcher {

using planning::PoolIdentity;
using planning::QuotaBounds;

// One node of a request.
struct RequestedNode {
  std::string node_id;   // empty: to be launched
  std::size_t lock = 0;  // its index in the handler's locks
};

// The nodes that are launched for one request, from their first record until each of them is ready
// or has failed. The caller owns their locks, and gives them up.
class NodeLaunches {
 public:
  NodeLaunches(const ServingContext& context, ProviderInService provider, PoolIdentity pool,
               coordination::LockSet& locks, telemetry::Logger log);
  ~NodeLaunches();

  // Adds the creation of a record (`init`) for each label to a transaction of the caller. `zone`:
  // where the machines are to be made; nothing: the provider chooses.
  void create_in(coordination::Transaction& transaction, const model::NodeRequest& request,
                 const std::vector<std::string>& labels, const std::optional<std::string>& zone);

  // Takes over a node that another launcher, or this one before it was restarted, has begun to
  // launch, and that the caller has locked.
  void take_over(const model::NodeRequest& request, model::Node node, std::size_t lock);

  // Whether there is anything to launch.
  bool empty() const { return launches_.empty(); }

  // After that commit, in which `request` was written as well. Returns the nodes in the order of
  // the labels, with locks for them that are not taken yet; none if they cannot be found: an answer
  // that was lost leaves their ids to be looked for. Throws StoreError.
  Task<std::vector<RequestedNode>> created(std::vector<coordination::OperationResult> results,
                                           coordination::Stat request);

  // Whether what the nodes take is within the bounds, counting all nodes of the provider that were
  // recorded before them, by whomever. Launchers that decide at the same moment see each other's
  // records here: the store's order says who is to give way. Throws StoreError.
  Task<bool> fit(const QuotaBounds& bounds);

  // Locks the new nodes, and writes them as `building`, in one transaction; waits for a store that
  // is away. Returns whether that was possible. Throws StoreError if the session is lost;
  // Cancelled.
  Task<bool> begin();

  // The same for nodes that were taken over: they are `building` under this launcher's name, for
  // the request as it was then. Throws StoreError.
  Task<bool> begin_again();

  enum class Outcome {
    ready,    // all of them
    refused,  // by the provider's quota, at least one; none has failed
    failed,   // at least one, see failure()
    lost,     // at least one: its record or its lock is no longer this launcher's; none has failed
  };

  // Launches them side by side. Returns when every launch has ended, each with its record in the
  // state that tells: a launch goes on while the store is away, and its writes wait. Throws, after
  // all have ended, Cancelled, or StoreError if the session and with it the locks are lost.
  Task<Outcome> run();

  const std::string& failure() const { return failure_; }

 private:
  class Launch;

  Task<bool> find_created(std::int64_t transaction);
  // Nothing if the store was away.
  Task<std::optional<bool>> try_to_begin();
  Task<std::optional<bool>> try_to_read_again();
  Task<bool> read_again();
  bool exceeds(const QuotaBounds& bounds) const;
  Task<> run_together();
  Task<> run_one(Launch& launch);
  Task<> end(Launch& launch, model::NodeState state);

  const ServingContext& context_;
  ProviderInService provider_;
  PoolIdentity pool_;
  coordination::LockSet& locks_;
  telemetry::Logger log_;
  std::vector<std::unique_ptr<Launch>> launches_;
  driver::LaunchStages stages_;  // that the nodes of the request have in common
  const std::int64_t session_;   // whose the request's lock is
  std::size_t first_operation_ = 0;
  std::string newest_known_;  // the id of the newest node that was known before these
  std::size_t unfinished_ = 0;
  bool refused_ = false;
  bool lost_ = false;
  bool session_lost_ = false;
  std::string failure_;
  async::Event ended_{"a launch has ended"};
  bool together_ended_ = false;  // what is done for all nodes at once
  std::exception_ptr together_failure_;
  async::Event together_{"the nodes of a request are made together"};
};

}  // namespace nodepool::launcher
