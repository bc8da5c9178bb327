#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "coordination/lock_set.h"
#include "launcher/context.h"
#include "model/node.h"
#include "model/node_request.h"
#include "model/record_batch.h"
#include "planning/pool_identity.h"
#include "planning/verdict.h"

namespace nodepool::launcher {

// One node of a request.
struct RequestedNode {
  std::string node_id;   // empty: to be launched
  std::size_t lock = 0;  // its index in the request's locks
};

// A request that one pool serves or declines, its nodes, and the locks of both.
class LockedRequest {
 public:
  // Takes no lock yet.
  LockedRequest(const ServingContext& context, planning::PoolIdentity pool, std::string id);

  const ServingContext& context() const { return context_; }
  const planning::PoolIdentity& pool() const { return pool_; }
  const std::string& id() const { return id_; }
  const telemetry::Logger& log() const { return log_; }

  // As last read, until the next change of the table; nullptr: it is gone.
  const model::NodeRequest* record() const;

  coordination::LockSet& locks() { return locks_; }
  const coordination::LockSet& locks() const { return locks_; }
  std::size_t request_lock() const { return request_lock_; }

  // One for each of the request's labels, once they are added.
  std::vector<RequestedNode>& nodes() { return nodes_; }
  const std::vector<RequestedNode>& nodes() const { return nodes_; }
  // Adds an existing node and its lock or, if `id` is empty, a node to be launched.
  void add_node(std::string id);

  // Takes the locks that are not held yet: all or none. Throws StoreError.
  async::Task<coordination::LockSet::Outcome> take();

  // Commits the last transaction of the work, which also releases the request's lock; `batch`
  // releases those of the nodes. Returns false, and logs `refusal`, if a record has changed
  // meanwhile. Throws any other StoreError.
  async::Task<bool> commit_last(model::RecordBatch batch, std::string_view refusal);

  // Records in `request`, a copy of the record, that the pool declines it, and why. The request has
  // failed if no registered pool is left.
  void decline_in(model::NodeRequest& request, const planning::Reason& reason) const;

  // To be called after `request` was written: measures how long it waited, if it is now fulfilled
  // or failed.
  void report_end(const model::NodeRequest& request) const;

 private:
  const ServingContext& context_;
  planning::PoolIdentity pool_;
  std::string id_;
  telemetry::Logger log_;
  coordination::LockSet locks_;
  std::size_t request_lock_;
  std::vector<RequestedNode> nodes_;
};

// Throws the error again if a retry would not help, for example because a record is too large.
void rethrow_argument_error(const coordination::TransactionError& error);

}  // namespace nodepool::launcher
