#include "requestor/held_nodes.h"

#include <exception>

#include "model/paths.h"
#include "requestor/request.h"

namespace nodepool::requestor {

using coordination::StoreError;
using coordination::Transaction;
using model::NodeState;

HeldNodes::HeldNodes(const async::Runtime& runtime, coordination::Store& store)
    : runtime_(runtime), store_(store), locked_(runtime, store) {}

Task<> HeldNodes::accept(model::NodeRequest request) {
  const std::string request_id = request.id;
  std::exception_ptr failure;
  try {
    co_await locked_.lock(std::move(request));
    co_await take();
  } catch (...) {
    failure = std::current_exception();
  }
  if (!failure) co_return;
  co_await locked_.release();
  co_await withdraw(store_, request_id);
  std::rethrow_exception(failure);
}

Task<> HeldNodes::take() {
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

Task<> HeldNodes::release() {
  Transaction transaction;
  for (model::Node& node : nodes_) {
    node.set_state(NodeState::used, runtime_.clock.wall_seconds());
    transaction.set(model::node_path(node.id), to_record(node), node.stat.version);
  }
  if (transaction.empty()) co_return;
  locked_.release_in(transaction);
  bool changed_by_others = false;
  try {
    co_await commit_surely(store_, std::move(transaction));
    locked_.released();
  } catch (const StoreError& error) {
    if (!error.is_answer()) throw;
    changed_by_others = true;
  }
  nodes_.clear();
  // An operator has removed or changed a node in spite of its lock. A node that is in use and
  // unlocked goes back as well.
  if (changed_by_others) co_await locked_.release();
}

}  // namespace nodepool::requestor
