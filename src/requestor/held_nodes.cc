#include "requestor/held_nodes.h"

#include <functional>
#include <numeric>

#include "async/finally.h"
#include "model/paths.h"
#include "requestor/request.h"

namespace nodepool::requestor {

using coordination::StoreError;
using coordination::Transaction;
using model::NodeState;

HeldNodes::HeldNodes(const async::Runtime& runtime, coordination::Store& store)
    : runtime_(runtime), store_(store), locked_(runtime, store) {}

Task<> HeldNodes::accept(model::NodeRequest request) {
  const std::function<Task<>()> give_up = [this, id = request.id] { return decline(id); };
  Task<> taking = lock_and_take(std::move(request));
  co_await async::undo_on_failure(std::move(taking), give_up);
}

Task<> HeldNodes::decline(std::string request_id) {
  co_await locked_.release();
  co_await withdraw(store_, std::move(request_id));
}

Task<> HeldNodes::lock_and_take(model::NodeRequest request) {
  co_await locked_.lock(std::move(request));
  std::vector<model::Node> nodes = locked_.nodes();
  Transaction transaction;
  for (model::Node& node : nodes) {
    node.set_state(NodeState::in_use, runtime_.clock.wall_seconds());
    transaction.set(model::node_path(node.id), to_record(node), node.stat.version);
    ++node.stat.version;
  }
  transaction.remove(model::request_path(locked_.request().id));
  co_await commit_surely(store_, std::move(transaction));
  nodes_ = std::move(nodes);
}

// If a record has changed meanwhile, for example its comment, reads it again and retries once, each
// node by itself.
Task<std::vector<std::string>> HeldNodes::release(std::optional<std::string> hold_reason) {
  std::vector<std::string> released;
  if (nodes_.empty()) co_return released;
  std::vector<std::size_t> indexes(nodes_.size());
  std::iota(indexes.begin(), indexes.end(), 0);
  const bool is_done = co_await try_release(indexes, hold_reason);
  if (!is_done) co_await read_again();
  for (const std::size_t index : indexes) {
    const std::vector<std::size_t> one = {index};
    if (is_done || co_await try_release(one, hold_reason)) released.push_back(nodes_[index].id);
  }
  const bool is_complete = released.size() == nodes_.size();
  nodes_.clear();
  // An operator has removed or changed a node in spite of its lock. Unlock: the launcher reclaims
  // nodes that are in use and unlocked.
  if (!is_complete) co_await locked_.release();
  co_return released;
}

// Returns false if another process has changed a record, or the session's locks are gone.
Task<bool> HeldNodes::try_release(std::vector<std::size_t> indexes,
                                  std::optional<std::string> hold_reason) {
  const NodeState end = hold_reason ? NodeState::hold : NodeState::used;
  Transaction transaction;
  for (const std::size_t index : indexes) {
    model::Node node = nodes_[index];
    node.set_state(end, runtime_.clock.wall_seconds());
    if (hold_reason) node.comment = *hold_reason;
    transaction.set(model::node_path(node.id), to_record(node), node.stat.version);
    locked_.release_in(transaction, index);
  }
  try {
    co_await commit_surely(store_, std::move(transaction));
    for (const std::size_t index : indexes) locked_.released(index);
  } catch (const StoreError& error) {
    if (!error.is_rejection()) throw;
    co_return false;
  }
  co_return true;
}

// Nodes that have been deleted or are not in use any more are kept as they were, so that the next
// attempt fails, too.
Task<> HeldNodes::read_again() {
  for (model::Node& node : nodes_) {
    try {
      const coordination::Entry entry = co_await store_.get(model::node_path(node.id));
      model::Node now = model::parse_node(node.id, entry);
      if (now.state == NodeState::in_use) node = std::move(now);
    } catch (const StoreError& error) {
      if (!error.is_rejection()) throw;
    } catch (const model::RecordError&) {
      continue;
    }
  }
}

}  // namespace nodepool::requestor
