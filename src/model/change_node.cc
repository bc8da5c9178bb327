#include "model/change_node.h"

#include "coordination/lock.h"
#include "coordination/tree.h"
#include "coordination/with_lock.h"
#include "model/paths.h"
#include "model/record_batch.h"

namespace nodepool::model {

namespace {

using async::Task;
using coordination::StoreError;

Task<NodeChange> change_locked(coordination::Store& store, NodeTable& nodes,
                               coordination::Lock& lock, std::string id,
                               std::function<bool(Node&)> change, coordination::Transaction proof) {
  std::optional<Node> node = co_await read_node(store, std::move(id));
  if (!node) co_return NodeChange::gone;
  if (!change(*node)) co_return NodeChange::unchanged;
  RecordBatch batch;
  batch.write(nodes, *std::move(node));
  lock.release_in(batch.transaction());
  const std::size_t own = batch.transaction().size();
  batch.transaction().append(proof);
  try {
    co_await batch.commit(store);
  } catch (const coordination::TransactionError& error) {
    const bool is_outdated = error.index() >= own || error.kind() == StoreError::Kind::bad_version;
    if (is_outdated) co_return NodeChange::outdated;
    if (error.kind() != StoreError::Kind::no_node) throw;
    co_return NodeChange::locked;  // the own contender is gone, with the session or by an operator
  }
  lock.released();
  co_return NodeChange::written;
}

Task<NodeChange> change_if_free(coordination::Store& store, NodeTable& nodes,
                                coordination::Lock& lock, std::string id,
                                std::function<bool(Node&)> change,
                                coordination::Transaction proof) {
  try {
    if (!co_await lock.try_acquire()) co_return NodeChange::locked;
    co_return co_await change_locked(store, nodes, lock, id, std::move(change), std::move(proof));
  } catch (const StoreError& error) {
    if (error.kind() != StoreError::Kind::no_node) throw;
  }
  nodes.removed(id);  // the table was stale
  co_return NodeChange::gone;
}

}  // namespace

Task<std::optional<Node>> read_node(coordination::Store& store, std::string id) {
  const std::optional<coordination::Entry> entry =
      co_await coordination::find(store, node_path(id));
  if (!entry || entry->data.empty()) co_return std::nullopt;
  co_return parse_node(std::move(id), *entry);
}

Task<NodeChange> change_node(async::Runtime runtime, coordination::Store& store, NodeTable& nodes,
                             std::string id, std::function<bool(Node&)> change,
                             coordination::Transaction proof) {
  coordination::Lock lock(store, runtime.random, node_lock_path(id));
  Task<NodeChange> changing =
      change_if_free(store, nodes, lock, std::move(id), std::move(change), std::move(proof));
  co_return co_await coordination::with_lock(lock, std::move(changing));
}

}  // namespace nodepool::model
