#include "model/record_batch.h"

#include <cstddef>
#include <utility>

#include "coordination/known_outcome.h"
#include "coordination/path.h"
#include "model/paths.h"

namespace nodepool::model {

template <typename Table, typename Record>
void RecordBatch::write_at(Table& table, Record record, const std::string& path,
                           coordination::Stat* stat) {
  const std::size_t index = transaction_.size();
  transaction_.set(path, to_record(record), record.stat.version);
  effects_.emplace_back([&table, record = std::move(record), index, stat](const Results& results) {
    const coordination::Stat& written = results.at(index).stat;
    if (stat != nullptr) *stat = written;
    const bool is_known = written.mzxid != 0;  // else its event updates the table
    if (is_known) table.written(record, written);
  });
}

void RecordBatch::write(NodeTable& table, Node node, coordination::Stat* stat) {
  const std::string path = node_path(node.id);
  write_at(table, std::move(node), path, stat);
}

void RecordBatch::write(RequestTable& table, NodeRequest request, coordination::Stat* stat) {
  const std::string path = request_path(request.id);
  write_at(table, std::move(request), path, stat);
}

void RecordBatch::create(NodeTable& table, Node& node) {
  const std::size_t index = transaction_.size();
  transaction_.create(node_path(""), to_record(node),
                      coordination::CreateMode::persistent_sequential);
  effects_.emplace_back([&table, &node, index](const Results& results) {
    const coordination::OperationResult& result = results.at(index);
    if (result.path.empty()) return;
    node.id = coordination::base_name(result.path);
    node.stat = result.stat;
    table.written(node, node.stat);
  });
}

async::Task<> RecordBatch::commit(coordination::Store& store) {
  const Results results = co_await store.commit(std::move(transaction_));
  committed(results);
}

async::Task<> RecordBatch::commit_until_known(async::Runtime runtime, coordination::Store& store) {
  const Results results =
      co_await coordination::commit_until_known(runtime, store, std::move(transaction_));
  committed(results);
}

void RecordBatch::committed(const Results& results) const {
  for (const Effect& effect : effects_) effect(results);
}

}  // namespace nodepool::model
