#include "requestor/lease.h"

#include <algorithm>
#include <chrono>
#include <exception>
#include <functional>
#include <map>
#include <optional>
#include <utility>

#include "async/finally.h"
#include "coordination/known_outcome.h"
#include "coordination/lock.h"
#include "coordination/outage.h"
#include "coordination/path.h"
#include "model/change_node.h"
#include "model/paths.h"
#include "requestor/error.h"
#include "requestor/locked_nodes.h"
#include "requestor/request.h"

namespace nodepool::requestor {

namespace {

using coordination::Lock;
using coordination::Store;
using coordination::StoreError;
using coordination::Transaction;
using model::Lease;
using model::Node;
using model::NodeState;

// Attempts of a change whose records are changed meanwhile.
constexpr int kAttempts = 5;

// How long to find out whether the nodes were leased.
constexpr auto kOutcomeTimeout = std::chrono::minutes(1);

double after(const async::Runtime& runtime, async::Duration duration) {
  return runtime.clock.wall_seconds() + std::chrono::duration<double>(duration).count();
}

NoSuchLease no_such_lease(const std::string& id) {
  return NoSuchLease("there is no lease " + id + ": it has expired, or has been released");
}

// The node's current record, if the lease has the node.
Task<std::optional<Node>> read_leased(Store& store, std::string node_id, std::string lease_id) {
  std::optional<Node> node = co_await model::read_node(store, std::move(node_id));
  if (!node) co_return std::nullopt;
  const std::optional<Lease> lease = lease_of(*node);
  const bool held = node->state == NodeState::in_use && lease && lease->id == lease_id;
  if (!held) node.reset();
  co_return node;
}

// Whether the lease has the node, after a transaction with an unknown outcome. A lease outlives the
// session, so that the next one can tell. Throws StoreError (unknown_outcome) that names the lease
// if the store does not respond in time, or if the wait is cancelled.
Task<bool> is_leased(async::Runtime runtime, Store& store, std::string node_id,
                     std::string lease_id) {
  const auto deadline = runtime.clock.now() + kOutcomeTimeout;
  std::string failure;
  while (failure.empty() || runtime.clock.now() < deadline) {
    try {
      const std::optional<Node> node = co_await read_leased(store, node_id, lease_id);
      co_return node.has_value();
    } catch (const StoreError& error) {
      failure = error.what();
    }
    try {
      co_await coordination::wait_for_store(runtime, store);
    } catch (const async::Cancelled&) {
      break;
    }
  }
  throw StoreError(StoreError::Kind::unknown_outcome,
                   failure + ": the nodes may be leased as " + lease_id);
}

// Commits the transaction that leases the nodes. Throws StoreError: they are not leased, unless the
// outcome is unknown.
Task<> commit_lease(async::Runtime runtime, Store& store, Transaction transaction,
                    std::string node_id, std::string lease_id) {
  const std::int64_t session = store.session_id();
  bool may_have_succeeded = false;  // an earlier attempt, whose effect another server may not show
  while (true) {
    std::exception_ptr refusal;
    try {
      co_await store.commit(transaction);
      co_return;
    } catch (const StoreError& error) {
      const bool is_unknown = error.kind() == StoreError::Kind::unknown_outcome ||
                              error.kind() == StoreError::Kind::session_expired;
      if (!is_unknown && !(may_have_succeeded && error.is_rejection())) throw;
      if (!is_unknown) refusal = std::current_exception();
      may_have_succeeded = true;
    }
    if (co_await is_leased(runtime, store, node_id, lease_id)) co_return;
    if (refusal) std::rethrow_exception(refusal);
    if (store.session_id() != session) {
      throw coordination::store_error(StoreError::Kind::session_expired, model::node_path(node_id));
    }
  }
}

// Marks the nodes as leased and replaces the session's locks by the lease's, in one transaction:
// the nodes are locked at every moment. If the process dies before, the session's locks vanish.
Task<> take(const async::Runtime& runtime, Store& store, LockedNodes& locked, const Lease& lease) {
  Transaction transaction;
  Lease as_asked = lease;
  for (Node& node : locked.nodes()) {
    node.set_state(NodeState::in_use, runtime.clock.wall_seconds());
    as_asked.label = locked.request().node_types.at(static_cast<std::size_t>(as_asked.index));
    node.user_data = lease_user_data(as_asked);
    ++as_asked.index;
    transaction.set(model::node_path(node.id), to_record(node), node.stat.version);
    Lock leased(store, runtime.random, model::node_lock_path(node.id),
                model::lease_contender(lease.id), Lock::Lifetime::persistent);
    leased.contend_in(transaction, /*root_exists=*/true);
  }
  locked.release_in(transaction);
  transaction.remove(model::request_path(locked.request().id));
  co_await commit_lease(runtime, store, std::move(transaction), locked.nodes().front().id,
                        lease.id);
  locked.released();
}

// The lease's contenders for the node's lock.
Task<std::vector<std::string>> contenders(Store& store, std::string node_id, std::string lease_id) {
  const std::string root = model::node_lock_path(node_id);
  std::vector<std::string> found;
  const std::vector<std::string> names = co_await store.children(root);
  for (const std::string& name : names) {
    std::string path = coordination::join_path(root, name);
    if (co_await model::is_contender_of_lease(store, path, lease_id)) found.push_back(path);
  }
  co_return found;
}

// Changes the record of a node that leaves its lease.
using Ending = std::function<void(Node& node)>;

enum class Removal {
  done,
  not_leased,  // the lease does not have the node
  changed,     // another attempt is needed
};

// Removes one node from its lease.
Task<Removal> try_remove(Store& store, const std::string& node_id, const std::string& lease_id,
                         const Ending& ending) {
  try {
    std::optional<Node> node = co_await read_leased(store, node_id, lease_id);
    if (!node) co_return Removal::not_leased;
    ending(*node);
    Transaction transaction;
    transaction.set(model::node_path(node_id), to_record(*node), node->stat.version);
    const std::vector<std::string> paths = co_await contenders(store, node_id, lease_id);
    for (const std::string& path : paths) transaction.remove(path);
    co_await commit_surely(store, std::move(transaction));
  } catch (const StoreError& error) {
    if (!error.is_rejection()) throw;
    co_return Removal::changed;
  }
  co_return Removal::done;
}

// The same, with several attempts. Returns false if the lease does not have the node.
Task<bool> remove_from_lease(Store& store, std::string node_id, std::string lease_id,
                             Ending ending) {
  for (int attempt = 0; attempt < kAttempts; ++attempt) {
    const Removal removal = co_await try_remove(store, node_id, lease_id, ending);
    if (removal != Removal::changed) co_return removal == Removal::done;
  }
  throw RequestError("node " + node_id + " is being changed by another process");
}

// The node is used, …
Ending releasing(const async::Runtime& runtime) {
  return [&runtime](Node& node) { node.set_state(NodeState::used, runtime.clock.wall_seconds()); };
}

// … or held.
Ending holding(const async::Runtime& runtime, const std::string& reason,
               std::optional<std::chrono::seconds> longest = std::nullopt) {
  return [&runtime, &reason, longest](Node& node) {
    const std::optional<Lease> lease = lease_of(node);
    node.comment = reason;
    if (reason.empty() && lease) {
      node.comment = "held from lease " + lease->id + " of " + lease->holder;
    }
    node.user_data = {};
    if (lease && !lease->owner.empty()) {
      node.user_data = model::hold_user_data({lease->owner, lease->id});
    }
    if (longest) node.hold_expiration = longest->count();
    node.set_state(NodeState::hold, runtime.clock.wall_seconds());
  };
}

// Returns nothing if another attempt is needed.
Task<std::optional<Lease>> try_renew(Store& store, const std::vector<std::string>& node_ids,
                                     const std::string& lease_id, double expires,
                                     std::optional<std::chrono::seconds> longest) {
  std::vector<Node> nodes;
  for (const std::string& id : node_ids) {
    std::optional<Node> node = co_await read_leased(store, id, lease_id);
    if (!node) continue;
    if (longest) {
      expires = std::min(expires, node->state_time + static_cast<double>(longest->count()));
    }
    nodes.push_back(*std::move(node));
  }
  if (nodes.empty()) throw no_such_lease(lease_id);
  std::optional<Lease> renewed;
  Transaction transaction;
  for (Node& node : nodes) {
    renewed = lease_of(node);
    renewed->expires = expires;
    node.user_data = lease_user_data(*renewed);
    transaction.set(model::node_path(node.id), to_record(node), node.stat.version);
  }
  try {
    co_await commit_surely(store, std::move(transaction));
  } catch (const StoreError& error) {
    if (!error.is_rejection()) throw;
    renewed.reset();
  }
  co_return renewed;
}

// Removes these nodes from their lease; returns the ids of those that were part of it.
Task<std::vector<std::string>> remove_all(Store& store, std::vector<std::string> node_ids,
                                          std::string lease_id, Ending ending) {
  std::vector<std::string> removed;
  for (const std::string& node_id : node_ids) {
    Task<bool> removing = remove_from_lease(store, node_id, lease_id, ending);
    if (!removed.empty()) removing = coordination::continue_change(std::move(removing));
    if (co_await std::move(removing)) removed.push_back(node_id);
  }
  co_return removed;
}

Task<> lock_and_take(async::Runtime runtime, Store& store, LockedNodes& locked,
                     model::NodeRequest request, Lease lease) {
  co_await locked.lock(std::move(request));
  co_await take(runtime, store, locked, lease);
}

// Undoes something after a failure, which is the one to report. What the store does not undo now,
// its LockSweeper does later, or else the end of the session.
Task<> undo_if_possible(Task<> undoing) {
  try {
    co_await std::move(undoing);
  } catch (const StoreError&) {
    co_return;
  }
}

}  // namespace

Task<LeasedNodes> lease_nodes(async::Runtime runtime, Store& store, model::NodeRequest request,
                              LeaseTerms terms) {
  Lease lease{request.id, after(runtime, terms.duration), std::move(terms.holder),
              std::move(terms.owner), std::move(terms.key)};
  LockedNodes locked(runtime, store);
  Task<> taking = lock_and_take(runtime, store, locked, std::move(request), lease);
  const auto unlock = [&locked] { return undo_if_possible(locked.release()); };
  co_await async::undo_on_failure(std::move(taking), unlock);
  co_return LeasedNodes{std::move(lease), std::move(locked.nodes())};
}

Task<LeasedNodes> accept_with_lease(async::Runtime runtime, Store& store,
                                    model::NodeRequest request, LeaseTerms terms) {
  const std::string request_id = request.id;
  Task<LeasedNodes> leasing = lease_nodes(runtime, store, std::move(request), std::move(terms));
  const auto give_up = [&store, &request_id] {
    return undo_if_possible(withdraw(store, request_id));
  };
  co_return co_await async::undo_on_failure(std::move(leasing), give_up);
}

std::vector<LeasedNodes> leases(const model::NodeTable& nodes) {
  std::map<std::string, LeasedNodes> by_id;
  for (const auto& [id, node] : nodes.all()) {
    std::optional<Lease> lease = lease_of(node);
    if (!lease || node.state != NodeState::in_use) continue;
    LeasedNodes& leased = by_id[lease->id];
    leased.lease = std::move(*lease);
    leased.nodes.push_back(node);
  }
  std::vector<LeasedNodes> all;
  all.reserve(by_id.size());
  for (auto& [id, leased] : by_id) all.push_back(std::move(leased));
  return all;
}

double end_of_lease(const model::NodeTable& nodes, const std::string& lease_id) {
  for (const std::string& id : nodes.allocated_to(lease_id)) {
    const Node* node = nodes.find(id);
    const std::optional<Lease> lease = node == nullptr ? std::nullopt : lease_of(*node);
    if (lease && lease->id == lease_id) return lease->expires;
  }
  return 0;
}

Task<Lease> renew_lease(async::Runtime runtime, Store& store, const model::NodeTable& nodes,
                        std::string lease_id, async::Duration duration,
                        std::optional<std::chrono::seconds> longest) {
  const model::IdSet& allocated = nodes.allocated_to(lease_id);
  const std::vector<std::string> node_ids(allocated.begin(), allocated.end());
  for (int attempt = 0; attempt < kAttempts; ++attempt) {
    std::optional<Lease> renewed =
        co_await try_renew(store, node_ids, lease_id, after(runtime, duration), longest);
    if (renewed) co_return std::move(*renewed);
  }
  throw RequestError("the nodes of lease " + lease_id + " are being changed by another process");
}

Task<bool> keep_leased_node(async::Runtime runtime, Store& store, std::string node_id,
                            std::string lease_id, std::string reason,
                            std::optional<std::chrono::seconds> longest) {
  const Ending ending = holding(runtime, reason, longest);
  Task<bool> removing = remove_from_lease(store, std::move(node_id), std::move(lease_id), ending);
  co_return co_await std::move(removing);
}

Task<bool> end_hold(async::Runtime runtime, Store& store, model::NodeTable& nodes,
                    std::string node_id) {
  const std::function<bool(Node&)> end = [&runtime](Node& node) {
    if (node.state != NodeState::hold) return false;
    node.set_state(NodeState::used, runtime.clock.wall_seconds());
    return true;
  };
  const model::NodeChange change = co_await model::change_node(runtime, store, nodes, node_id, end);
  if (change == model::NodeChange::locked) throw RequestError("node " + node_id + " is locked");
  if (change == model::NodeChange::outdated) {
    throw RequestError("node " + node_id + " is being changed by another process");
  }
  co_return change == model::NodeChange::written;
}

Task<std::vector<std::string>> release_lease(async::Runtime runtime, Store& store,
                                             const model::NodeTable& nodes, std::string id,
                                             std::optional<std::string> hold_reason) {
  const Node* single = nodes.find(id);
  const std::optional<Lease> lease = single == nullptr ? std::nullopt : lease_of(*single);
  if (single != nullptr && !lease) throw NoSuchLease("node " + id + " is not leased");
  const std::string lease_id = lease ? lease->id : id;
  std::vector<std::string> node_ids;
  if (lease) {
    node_ids.push_back(id);
  } else {
    const model::IdSet& allocated = nodes.allocated_to(lease_id);
    node_ids.assign(allocated.begin(), allocated.end());
  }
  const Ending ending = hold_reason ? holding(runtime, *hold_reason) : releasing(runtime);
  Task<std::vector<std::string>> removing =
      remove_all(store, std::move(node_ids), lease_id, ending);
  std::vector<std::string> released = co_await std::move(removing);
  if (released.empty()) throw no_such_lease(lease_id);
  co_return released;
}

Task<std::vector<std::string>> release_nodes(async::Runtime runtime, Store& store,
                                             std::string lease_id,
                                             std::vector<std::string> node_ids) {
  Task<std::vector<std::string>> removing =
      remove_all(store, std::move(node_ids), std::move(lease_id), releasing(runtime));
  co_return co_await std::move(removing);
}

}  // namespace nodepool::requestor
