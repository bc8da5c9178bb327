#include "requestor/locked_nodes.h"

#include <algorithm>
#include <chrono>
#include <functional>
#include <optional>

#include "async/finally.h"
#include "coordination/known_outcome.h"
#include "coordination/tree.h"
#include "model/paths.h"
#include "requestor/error.h"

namespace nodepool::requestor {

namespace {

using coordination::LockSet;
using coordination::Store;
using coordination::StoreError;
using coordination::Transaction;
using Kind = StoreError::Kind;

// Another process may hold the lock of a ready node for a moment.
constexpr auto kLockTimeout = std::chrono::seconds(10);
constexpr auto kLockRetryInterval = std::chrono::milliseconds(100);

// Whether it is an id as the store assigns them. Ids get into files and command lines.
bool is_node_id(const std::string& id) {
  return !id.empty() && id.find_first_not_of("0123456789") == std::string::npos;
}

// Whether a transaction was committed, judged by a record that it sets.
Task<bool> was_committed(Store& store, const Transaction& transaction) {
  const auto& operations = transaction.operations();
  const auto set =
      std::ranges::find(operations, Transaction::Kind::set, &Transaction::Operation::kind);
  const std::optional<coordination::Entry> entry = co_await coordination::find(store, set->path);
  co_return entry && entry->data == set->data && entry->stat.version == set->version + 1;
}

}  // namespace

Task<> commit_surely(Store& store, Transaction transaction) {
  while (true) {
    try {
      co_await store.commit(transaction);
      co_return;
    } catch (const StoreError& error) {
      if (error.kind() != Kind::unknown_outcome) throw;
    }
    Task<bool> checking = was_committed(store, transaction);
    if (co_await coordination::continue_change(std::move(checking))) co_return;
  }
}

LockedNodes::LockedNodes(const async::Runtime& runtime, Store& store)
    : runtime_(runtime), store_(store), locks_(store, runtime.random) {}

Task<> LockedNodes::lock(model::NodeRequest request) {
  request_ = std::move(request);
  if (request_.nodes.size() != request_.node_types.size()) {
    throw RequestError("request " + request_.id + " was fulfilled with a wrong number of nodes");
  }
  for (const std::string& id : request_.nodes) {
    if (!is_node_id(id)) {
      throw RequestError("request " + request_.id + " was fulfilled with an invalid node ID");
    }
  }
  for (const std::string& id : request_.nodes) {
    locks_.add(model::node_lock_path(id), /*root_exists=*/true);
  }
  co_await take_locks();
  const std::function<Task<>()> unlock = [this] { return locks_.release(); };
  Task<> reading = read();
  co_await async::undo_on_failure(std::move(reading), unlock);
}

Task<> LockedNodes::take_locks() {
  const auto deadline = runtime_.clock.now() + kLockTimeout;
  while (true) {
    const LockSet::Outcome outcome = co_await locks_.try_acquire();
    if (outcome.kind == LockSet::Outcome::Kind::acquired) co_return;
    const std::string& id = request_.nodes.at(outcome.index);
    if (outcome.kind == LockSet::Outcome::Kind::gone) {
      throw RequestError("node " + id + " has been deleted");
    }
    if (runtime_.clock.now() >= deadline) {
      throw RequestError("node " + id + " is locked by another process");
    }
    co_await runtime_.clock.sleep_for(kLockRetryInterval);
  }
}

Task<> LockedNodes::read() {
  nodes_.clear();
  for (const std::string& id : request_.nodes) {
    coordination::Entry entry = co_await store_.get(model::node_path(id));
    if (entry.data.empty()) throw RequestError("node " + id + " has been deleted");
    model::Node node = model::parse_node(id, entry);
    if (node.allocated_to != request_.id || node.state != model::NodeState::ready) {
      throw RequestError("node " + id + " is " + std::string(to_string(node.state)) +
                         " and allocated to " + node.allocated_to.value_or("no request"));
    }
    nodes_.push_back(std::move(node));
  }
}

void LockedNodes::release_in(Transaction& transaction) const {
  for (std::size_t i = 0; i < request_.nodes.size(); ++i) locks_.release_in(transaction, i);
}

}  // namespace nodepool::requestor
