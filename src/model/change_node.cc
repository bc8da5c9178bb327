#include "model/change_node.h"

#include "coordination/lock.h"
#include "model/paths.h"

namespace nodepool::model {

namespace {

using async::Task;
using coordination::StoreError;

Task<NodeChange> change_locked(coordination::Store& store, NodeTable& nodes,
                               coordination::Lock& lock, std::string id,
                               std::function<bool(Node&)> change, coordination::Transaction proof) {
  const coordination::Entry entry = co_await store.get(node_path(id));
  if (entry.data.empty()) co_return NodeChange::gone;
  Node node = parse_node(id, entry);
  if (!change(node)) co_return NodeChange::unchanged;
  coordination::Transaction transaction;
  transaction.set(node_path(id), to_record(node), node.stat.version);
  lock.release_in(transaction);
  const std::size_t own = transaction.size();
  transaction.append(proof);
  std::vector<coordination::OperationResult> results;
  try {
    results = co_await store.commit(std::move(transaction));
  } catch (const coordination::TransactionError& error) {
    if (error.index() >= own) co_return NodeChange::outdated;
    if (error.kind() != StoreError::Kind::no_node) throw;
    co_return NodeChange::locked;  // our contender is gone, with the session or by force
  }
  lock.released();
  nodes.written(std::move(node), results.front().stat);
  co_return NodeChange::written;
}

}  // namespace

Task<NodeChange> change_node(async::Runtime runtime, coordination::Store& store, NodeTable& nodes,
                             std::string id, std::function<bool(Node&)> change,
                             coordination::Transaction proof) {
  coordination::Lock lock(store, runtime.random, node_lock_path(id));
  NodeChange outcome = NodeChange::locked;
  std::exception_ptr failure;
  try {
    if (co_await lock.try_acquire()) {
      outcome = co_await change_locked(store, nodes, lock, id, std::move(change), std::move(proof));
    }
  } catch (const StoreError& error) {
    if (error.kind() == StoreError::Kind::no_node) {
      outcome = NodeChange::gone;
      nodes.removed(id);  // whatever the table still thought
    } else {
      failure = std::current_exception();
    }
  } catch (...) {
    failure = std::current_exception();
  }
  co_await lock.release();
  if (failure) std::rethrow_exception(failure);
  co_return outcome;
}

}  // namespace nodepool::model
