#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

#include "async/runtime.h"
#include "coordination/store.h"
#include "model/node_table.h"
#include "model/request_table.h"

namespace nodepool::model {

// The record writes of one transaction, applied to the tables after the commit. Add checks and
// locks to transaction().
//
//   RecordBatch batch;
//   batch.write(nodes, node);
//   lock.release_in(batch.transaction());
//   co_await batch.commit(store);
//   lock.released();
class RecordBatch {
 public:
  using Results = std::vector<coordination::OperationResult>;

  coordination::Transaction& transaction() { return transaction_; }

  // Writes the record if its version is unchanged. Returns the index of the operation.
  std::size_t write(NodeTable& table, Node node);
  std::size_t write(RequestTable& table, NodeRequest request);

  // Commits and updates the tables. Call it once. Throws StoreError, TransactionError.
  async::Task<Results> commit(coordination::Store& store);

  // The same, and retries until the outcome is known (coordination/known_outcome.h).
  async::Task<Results> commit_until_known(async::Runtime runtime, coordination::Store& store);

 private:
  using Effect = std::function<void(const Results& results)>;

  template <typename Table, typename Record>
  std::size_t write_at(Table& table, Record record, const std::string& path);
  void committed(const Results& results) const;

  coordination::Transaction transaction_;
  std::vector<Effect> effects_;  // on the tables
};

}  // namespace nodepool::model
