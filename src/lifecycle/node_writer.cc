#include "lifecycle/node_writer.h"

#include <utility>

#include "model/change_node.h"
#include "model/record_batch.h"

namespace nodepool::lifecycle {

Task<> save_locked(NodeWriter writer, model::Node& node, const coordination::Lock& lock) {
  model::RecordBatch batch;
  lock.check_in(batch.transaction());
  batch.write(writer.nodes, node, &node.stat);
  co_await batch.commit_until_known(writer.runtime, writer.store);
}

Task<bool> retire(NodeWriter writer, std::string id, std::function<bool(model::Node&)> is_due) {
  const auto change = [&is_due, now = writer.runtime.clock.wall_seconds()](model::Node& node) {
    if (!is_due(node)) return false;
    node.set_state(model::NodeState::deleting, now);
    return true;
  };
  Task<model::NodeChange> changing =
      model::change_node(writer.runtime, writer.store, writer.nodes, std::move(id), change);
  co_return co_await std::move(changing) == model::NodeChange::written;
}

}  // namespace nodepool::lifecycle
