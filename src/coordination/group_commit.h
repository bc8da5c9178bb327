#pragma once

#include <cstddef>
#include <memory>
#include <vector>

#include "async/runtime.h"
#include "coordination/forwarding_store.h"

namespace nodepool::coordination {

// Group commit: batches transactions into larger ones of another store. A group contains the
// transactions that tasks submit in the same iteration of the loop or while another group is in
// flight. A durable store takes about the same time for a group, and watches report it at once.
//
// Each transaction keeps its properties: it is atomic, has its own results and error, and belongs
// to the session in which it was submitted. If the store rejects a group, the transactions are
// committed one by one, in order. If the outcome of a group is unknown, so is the outcome of each
// of its transactions. Transactions that write the same path are never in one group, nor are a
// write and a check of the same path, so that each write has a version and a transaction id of its
// own.
//
// Transactions are committed in the order of submission. All other operations are forwarded at
// once: to order one after a transaction, await the transaction first.
class GroupCommit final : public ForwardingStore {
 public:
  struct Limits {
    // For one group; a larger transaction is committed alone. Well below a store's own limit
    // (kMaximumDataSize).
    std::size_t operations = 1000;
    std::size_t bytes = 400'000;  // paths and data
  };

  // `inner` outlives it.
  GroupCommit(const async::Runtime& runtime, Store& inner);
  GroupCommit(const async::Runtime& runtime, Store& inner, Limits limits);
  // Tasks that wait for a transaction get `closed`.
  ~GroupCommit() override;
  GroupCommit(const GroupCommit&) = delete;
  GroupCommit& operator=(const GroupCommit&) = delete;

  Task<std::vector<OperationResult>> commit(Transaction transaction) override;

  // The number of committed groups of several transactions, and of rejected ones.
  std::size_t groups() const;
  std::size_t refused_groups() const;

 private:
  class Queue;

  std::shared_ptr<Queue> queue_;
};

}  // namespace nodepool::coordination
