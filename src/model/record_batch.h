#pragma once

#include <functional>
#include <string>
#include <vector>

#include "async/runtime.h"
#include "coordination/store.h"
#include "model/node_table.h"
#include "model/request_table.h"

namespace nodepool::model {

// The record writes of one transaction. The commit applies them to the tables and gives each writer
// its result. Add checks and locks to transaction().
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

  // Writes the record if its version is unchanged. The commit sets `*stat`, if given, to the new
  // stat: mzxid 0 if that can no longer be read. `*stat` outlives the commit.
  void write(NodeTable& table, Node node, coordination::Stat* stat = nullptr);
  void write(RequestTable& table, NodeRequest request, coordination::Stat* stat = nullptr);

  // Creates a record. The commit sets the new id and the stat in `node`, which outlives it. They
  // stay as they are if the response was lost.
  void create(NodeTable& table, Node& node);

  // Commits and updates the tables. Call it once. Throws StoreError, TransactionError.
  async::Task<> commit(coordination::Store& store);

  // The same, and retries until the outcome is known (coordination/known_outcome.h).
  async::Task<> commit_until_known(async::Runtime runtime, coordination::Store& store);

  // To be called instead if another function has committed transaction().
  void committed(const Results& results) const;

 private:
  using Effect = std::function<void(const Results& results)>;

  template <typename Table, typename Record>
  void write_at(Table& table, Record record, const std::string& path, coordination::Stat* stat);

  coordination::Transaction transaction_;
  std::vector<Effect> effects_;  // of the writes
};

}  // namespace nodepool::model
