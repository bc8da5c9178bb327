#include "model/record_batch.h"

#include <utility>

#include "coordination/known_outcome.h"
#include "model/paths.h"

namespace nodepool::model {

template <typename Table, typename Record>
std::size_t RecordBatch::write_at(Table& table, Record record, const std::string& path) {
  const std::size_t index = transaction_.size();
  transaction_.set(path, to_record(record), record.stat.version);
  effects_.emplace_back([&table, record = std::move(record), index](const Results& results) {
    const coordination::Stat& stat = results.at(index).stat;
    const bool is_known = stat.mzxid != 0;  // else its event updates the table
    if (is_known) table.written(record, stat);
  });
  return index;
}

std::size_t RecordBatch::write(NodeTable& table, Node node) {
  const std::string path = node_path(node.id);
  return write_at(table, std::move(node), path);
}

std::size_t RecordBatch::write(RequestTable& table, NodeRequest request) {
  const std::string path = request_path(request.id);
  return write_at(table, std::move(request), path);
}

async::Task<RecordBatch::Results> RecordBatch::commit(coordination::Store& store) {
  Results results = co_await store.commit(std::move(transaction_));
  committed(results);
  co_return results;
}

async::Task<RecordBatch::Results> RecordBatch::commit_until_known(async::Runtime runtime,
                                                                  coordination::Store& store) {
  Results results =
      co_await coordination::commit_until_known(runtime, store, std::move(transaction_));
  committed(results);
  co_return results;
}

void RecordBatch::committed(const Results& results) const {
  for (const Effect& effect : effects_) effect(results);
}

}  // namespace nodepool::model
