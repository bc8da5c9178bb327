#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "coordination/lock_set.h"
#include "driver/launch_stages.h"
#include "launcher/context.h"
#include "launcher/locked_request.h"
#include "launcher/providers.h"
#include "model/record_batch.h"
#include "planning/pool_identity.h"
#include "planning/verdict.h"

namespace nodepool::launcher {

using planning::PoolIdentity;
using planning::QuotaBounds;

// Launches the nodes of one request, from their first record until each is ready or has failed. The
// caller owns and releases their locks.
class NodeLaunches {
 public:
  NodeLaunches(const ServingContext& context, ProviderInService provider, PoolIdentity pool,
               coordination::LockSet& locks, telemetry::Logger log);
  ~NodeLaunches();

  // Adds the creation of an `init` record for each label to the caller's batch. `zone`: the zone of
  // the machines; nothing: the provider chooses.
  void create_in(model::RecordBatch& batch, const model::NodeRequest& request,
                 const std::vector<std::string>& labels, const std::optional<std::string>& zone);

  // Adds a node, locked by the caller, whose launch was started by another launcher or before a
  // restart.
  void take_over(const model::NodeRequest& request, model::Node node, std::size_t lock);

  // Whether there is nothing to launch.
  bool empty() const { return launches_.empty(); }

  // To be called after that commit, which is the transaction `transaction` of the store. Returns
  // the nodes in the order of the labels, with locks that are not acquired yet. If the response was
  // lost, looks for their ids, and returns none if it does not find them. Throws StoreError.
  Task<std::vector<RequestedNode>> created(std::int64_t transaction);

  // Whether the nodes are within the bounds, together with all nodes that any launcher recorded
  // before them. Settles races between launchers: the order of the records decides. Throws
  // StoreError.
  Task<bool> fit(const QuotaBounds& bounds);

  // The result of a step before run().
  enum class Step {
    done,
    refused,  // nothing may be launched: a record or lock has changed, or a new record is not found
  };

  // Locks the new nodes and writes them as `building` in one transaction. Waits while the store is
  // unreachable. Throws StoreError if the session is lost; Cancelled.
  Task<Step> begin();

  // The same for nodes that were taken over: writes this launcher into their records. Refused also
  // if the request has changed. Throws StoreError.
  Task<Step> begin_again();

  enum class Outcome {
    ready,       // all of them
    refused,     // by the provider's quota, at least one; none has failed
    failed,      // at least one, see failure()
    unanswered,  // by the cloud, at least one, see failure(); none has failed otherwise
    lost,        // the record or lock of at least one, or the request; none has failed
    replaced,    // the provider: its successor can resume at least one launch; the others succeeded
  };

  // Launches them concurrently. Returns when all launches have ended and their records have the
  // final states. While the store is unreachable, launches continue and their writes wait. Throws,
  // after all have ended, Cancelled, or StoreError if the session and with it the locks are lost.
  Task<Outcome> run();

  const std::string& failure() const { return failure_; }

  // Whether the cloud has responded to a query of its quota since the last launch without a
  // response, or responds now.
  Task<bool> cloud_responds() { return provider_.quota->responds(queries_before_); }

 private:
  class Launch;

  Task<bool> find_created(std::int64_t transaction);
  enum class Attempt {
    done,
    refused,  // a record or lock has changed
    unknown,  // the store was unreachable
  };
  Task<Attempt> try_to_begin();
  Task<Attempt> read_again();
  bool exceeds(const QuotaBounds& bounds) const;
  Task<> run_one(Launch& launch);
  Task<> launch_in_turn(Launch& launch, const telemetry::Logger& log);
  Task<> end(Launch& launch, model::NodeState state);

  const ServingContext& context_;
  ProviderInService provider_;
  PoolIdentity pool_;
  coordination::LockSet& locks_;
  telemetry::Logger log_;
  std::vector<std::unique_ptr<Launch>> launches_;
  driver::LaunchStages stages_;  // common to the nodes of the request
  const std::int64_t session_;   // that holds the request's lock
  std::string newest_known_;     // the id of the newest node before these
  bool refused_ = false;
  bool lost_ = false;
  bool replaced_ = false;
  bool failed_ = false;
  std::string failure_;
  std::int64_t queries_before_ = 0;  // of the quota, before the last launch without a response
};

}  // namespace nodepool::launcher
