#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "async/runtime.h"
#include "coordination/lock_set.h"
#include "model/node.h"
#include "model/node_request.h"

namespace nodepool::requestor {

using async::Task;

// The nodes of a fulfilled request while its requestor accepts them: locked by this session, and
// checked to be ready and allocated to the request.
class LockedNodes {
 public:
  LockedNodes(const async::Runtime& runtime, coordination::Store& store);

  // Locks and reads the nodes of `request`. Throws RequestError if they are not available, and
  // StoreError; then nothing is locked.
  Task<> lock(model::NodeRequest request);

  const model::NodeRequest& request() const { return request_; }

  // In the order of the request's labels.
  std::vector<model::Node>& nodes() { return nodes_; }

  // Adds the unlocking of all nodes to a transaction. After the commit, call released().
  void release_in(coordination::Transaction& transaction) const;
  void released() { locks_.released(); }

  // The same for the node at `index`.
  void release_in(coordination::Transaction& transaction, std::size_t index) const {
    locks_.release_in(transaction, index);
  }
  void released(std::size_t index) { locks_.released(index); }

  // Unlocks all locked nodes. Throws StoreError.
  Task<> release() { return locks_.release(); }

 private:
  Task<> take_locks();
  Task<> read();

  async::Runtime runtime_;
  coordination::Store& store_;
  coordination::LockSet locks_;
  model::NodeRequest request_;
  std::vector<model::Node> nodes_;
};

// Commits a transaction that sets at least one record. After an unknown outcome, checks whether it
// was committed, and retries if not. Throws StoreError: it was not committed, unless the outcome is
// unknown.
Task<> commit_surely(coordination::Store& store, coordination::Transaction transaction);

}  // namespace nodepool::requestor
