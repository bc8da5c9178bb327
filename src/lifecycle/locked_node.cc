#include "lifecycle/locked_node.h"

#include "model/record_batch.h"

namespace nodepool::lifecycle {

Task<> save_locked(NodeWriter writer, model::Node& node, const coordination::Lock& lock) {
  model::RecordBatch batch;
  lock.check_in(batch.transaction());
  const std::size_t index = batch.write(writer.nodes, node);
  const auto results = co_await batch.commit_until_known(writer.runtime, writer.store);
  node.stat = results.at(index).stat;
}

}  // namespace nodepool::lifecycle
