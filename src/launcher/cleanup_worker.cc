#include "launcher/cleanup_worker.h"

#include <fmt/format.h>

#include <algorithm>

#include "coordination/lock.h"
#include "coordination/path.h"
#include "coordination/tree.h"
#include "coordination/with_lock.h"
#include "model/change_node.h"
#include "model/paths.h"
#include "model/record_batch.h"
#include "planning/decision.h"
#include "telemetry/log_errors.h"

namespace nodepool::launcher {

namespace {

using coordination::StoreError;
using coordination::Transaction;
using model::Node;
using model::NodeRequest;
using model::NodeState;
using model::RequestState;

// For changes without an event: requests that a running launcher gave up, empty records, and locks
// that could not be removed. The Python Nodepool's cleanup interval.
constexpr auto kCleanupInterval = std::chrono::seconds(60);

// For locks of deleted requests that a contender has created again.
constexpr auto kSweepInterval = std::chrono::hours(3);

// Seconds. A node is recorded before its launch starts, and looks like an orphan until then.
constexpr double kLaunchStartTimeout = 300;

// Seconds. A record without a request belongs to a static host whose registration is in progress.
// It blocks a new registration of the host.
constexpr double kRegistrationTimeout = 5;

// Changes within this time are handled together.
constexpr auto kBatchDelay = std::chrono::seconds(5);

// How long other launchers have to resume interrupted launches.
constexpr auto kInterruptedPause = std::chrono::seconds(30);

// Locks removed in one transaction.
constexpr std::size_t kLocksAtOnce = 100;

}  // namespace

CleanupWorker::CleanupWorker(const WorkerContext& context, const DepartedPools& departed_pools,
                             const std::set<std::string>& own_pools)
    : context_(context),
      departed_pools_(departed_pools),
      own_pools_(own_pools),
      log_(context.log.child("CleanupWorker")),
      scope_(context.runtime, telemetry::log_errors(log_)) {}

void CleanupWorker::start() {
  subscriptions_.push_back(
      context_.records.requests.observe([this](const model::RequestTable::Change& change) {
        if (change.after != nullptr) return observe_changes();
        if (!falls_to_peer(change.id)) gone_requests_.insert(change.id);
        run_soon();
      }));
  subscriptions_.push_back(context_.records.nodes.observe(
      [this](const model::NodeTable::Change&) { observe_changes(); }));
  subscriptions_.push_back(
      context_.records.components.observe([this](const model::ComponentTable::Change& change) {
        if (change.after != nullptr) return;
        // Its launcher may have had locks to remove.
        if (change.before->kind == model::Component::Kind::pool) sweep_due_ = true;
        run_soon();
      }));
  subscriptions_.push_back(context_.records.observe_ready([this] {
    sweep_due_ = true;  // deletions may have been missed
    run_soon();
  }));
  run_soon();
  scope_.spawn("CleanupWorker", run());
  scope_.spawn("sweep request locks", sweep_regularly());
}

Task<> CleanupWorker::stop() {
  subscriptions_.clear();
  co_await scope_.stop();
}

void CleanupWorker::run_soon() {
  cleanup_is_due_ = true;
  wake_.set();
}

Task<> CleanupWorker::sweep_regularly() {
  while (true) {
    co_await context_.runtime.clock.sleep_for(kSweepInterval);
    sweep_due_ = true;
    run_soon();
  }
}

void CleanupWorker::observe_changes() {
  if (is_at_rest_ && has_something_to_watch()) wake_.set();
}

bool CleanupWorker::has_something_to_watch() const {
  return !gone_requests_.empty() || !context_.records.requests.pending().empty() ||
         !context_.records.requests.waiting().empty() ||
         !context_.records.nodes.initial().empty() ||
         !context_.records.nodes.empty_records().empty();
}

// Returns when run_soon() was called, or an interval after the first record to watch.
Task<> CleanupWorker::wait_until_due() {
  while (!cleanup_is_due_ && !has_something_to_watch()) {
    is_at_rest_ = true;
    co_await wake_.wait();
    is_at_rest_ = false;
  }
  const auto end = std::min(context_.runtime.clock.now() + kCleanupInterval, next_cleanup_);
  while (!cleanup_is_due_ && co_await wake_.wait_until(context_.runtime.clock, end)) {
  }
  cleanup_is_due_ = false;
}

Task<> CleanupWorker::run() {
  while (true) {
    co_await wait_until_due();
    co_await context_.runtime.clock.sleep_for(kBatchDelay);
    if (!context_.records.ready()) continue;
    co_await clean_up();
    const std::string failure = std::exchange(first_failure_, {});
    if (!failure.empty()) log_.warning("Cleanup incomplete, retrying later: {}", failure);
  }
}

Task<> CleanupWorker::clean_up() {
  const model::IdSet pending = context_.records.requests.pending();
  std::erase_if(interrupted_, [&](const auto& entry) { return !pending.contains(entry.first); });
  next_cleanup_ = async::Clock::TimePoint::max();
  for (const std::string& id : pending) co_await isolated(reset_if_lost(id));
  std::vector<std::string> waiting;
  for (const auto& [key, id] : context_.records.requests.waiting()) {
    if (!context_.records.nodes.allocated_to(id).empty()) waiting.push_back(id);
  }
  for (const std::string& id : waiting) co_await isolated(free_stranded_nodes(id));
  co_await isolated(delete_orphans());
  co_await isolated(remove_request_locks());
  co_await isolated(remove_empty_nodes());
}

// A failure affects nothing else.
Task<> CleanupWorker::isolated(Task<> work) {
  try {
    co_await std::move(work);
  } catch (const async::Cancelled&) {
    throw;
  } catch (const std::exception& error) {
    if (first_failure_.empty()) first_failure_ = error.what();
  }
}

// --- lost requests

// Whether other launchers still have time to resume the request's launches.
bool CleanupWorker::is_deferred_to_peer(const NodeRequest& request) {
  model::IdSet nodes = context_.records.nodes.allocated_to(request.id);
  std::erase_if(nodes, [this](const std::string& id) { return is_discarded(id); });
  const bool can_be_resumed = nodes.size() == request.node_types.size() &&
                              std::ranges::all_of(nodes, [this](const std::string& id) {
                                const NodeState state = context_.records.nodes.find(id)->state;
                                return state == NodeState::building || state == NodeState::ready;
                              });
  if (!can_be_resumed) return false;
  const auto now = context_.runtime.clock.now();
  const auto since = interrupted_.try_emplace(request.id, now).first->second;
  const async::Duration timeout =
      may_be_served_by_others(request)
          ? async::Duration(kInterruptedPause)
          : std::max<async::Duration>(kInterruptedPause, departed_pools_.timeout());
  if (now >= since + timeout) return false;
  next_cleanup_ = std::min(next_cleanup_, since + timeout);
  return true;
}

bool CleanupWorker::may_be_served_by_others(const NodeRequest& request) const {
  return std::ranges::any_of(
      context_.records.components.pools(), [&](const model::Component* pool) {
        return pool->supports(request.node_types) && !request.declined(pool->id);
      });
}

// Whether the node is gone or about to be deleted, so that its lock says nothing about its request.
bool CleanupWorker::is_discarded(const std::string& node_id) const {
  const Node* node = context_.records.nodes.find(node_id);
  return node == nullptr || model::is_discarded(node->state);
}

// Reads the store, as the tables may be stale.
Task<bool> CleanupWorker::is_locked(std::string request_id) {
  const std::vector<std::string> contenders =
      co_await coordination::find_children(context_.store, model::request_lock_path(request_id));
  co_return !contenders.empty();
}

Task<> CleanupWorker::reset_if_lost(std::string request_id) {
  const NodeRequest* known = context_.records.requests.find(request_id);
  if (known == nullptr) co_return;
  const model::IdSet& nodes = context_.records.nodes.allocated_to(request_id);
  const bool is_worked_on = std::ranges::any_of(nodes, [this](const std::string& id) {
    return context_.records.nodes.is_locked(id) && !is_discarded(id);
  });
  if (is_worked_on) interrupted_.erase(request_id);
  if (is_worked_on || is_deferred_to_peer(*known)) co_return;
  if (co_await is_locked(request_id)) co_return;
  coordination::Lock lock(context_.store, context_.runtime.random,
                          model::request_lock_path(request_id));
  if (!co_await lock.try_acquire()) co_return;  // being served
  Task<> resetting = reset_if_pending(std::move(request_id), lock);
  co_await coordination::with_lock(lock, std::move(resetting));
}

Task<> CleanupWorker::reset_if_pending(std::string request_id, coordination::Lock& lock) {
  try {
    const coordination::Entry entry = co_await context_.store.get(model::request_path(request_id));
    NodeRequest request = model::parse_node_request(request_id, entry);
    if (request.state == RequestState::pending) co_await reset(std::move(request), lock);
  } catch (const StoreError& error) {
    if (!error.is_rejection()) throw;
  }
}

Task<> CleanupWorker::reset(NodeRequest request, coordination::Lock& lock) {
  const auto log = log_.about(request.event_id.value_or(""), request.id);
  const model::IdSet nodes = context_.records.nodes.allocated_to(request.id);
  for (const std::string& id : nodes) {
    Transaction proof;
    proof.check(model::request_path(request.id), request.stat.version);
    lock.check_in(proof);
    const bool is_freed = co_await free_node(id, request.id, std::move(proof));
    if (!is_freed && !is_discarded(id)) co_return;  // until the next run
  }
  request.nodes.clear();
  request.set_state(RequestState::requested, context_.runtime.clock.wall_seconds());
  model::RecordBatch batch;
  batch.write(context_.records.requests, std::move(request));
  lock.release_in(batch.transaction());
  co_await batch.commit(context_.store);
  lock.released();
  log.info("Reset the pending request to requested, no launcher was serving it");
}

// A launcher that did not learn the outcome of its last writes may have reset the request and left
// it a node. No node of a waiting request is in use. The check of the request's version proves that
// it still waits.
Task<> CleanupWorker::free_stranded_nodes(std::string request_id) {
  NodeRequest request;
  try {
    const coordination::Entry entry = co_await context_.store.get(model::request_path(request_id));
    request = model::parse_node_request(request_id, entry);
  } catch (const StoreError& error) {
    if (!error.is_rejection()) throw;
    co_return;  // deleted: DeletedNodeWorker frees its nodes
  }
  if (request.state != RequestState::requested) co_return;
  const model::IdSet nodes = context_.records.nodes.allocated_to(request_id);
  for (const std::string& id : nodes) {
    Transaction proof;
    proof.check(model::request_path(request_id), request.stat.version);
    if (!co_await free_node(id, request_id, std::move(proof))) continue;
    context_.about(log_, request_id, id).info("Deallocated the node, its request waits again");
  }
}

// Returns whether the node is no longer allocated to the request.
Task<bool> CleanupWorker::free_node(std::string node_id, std::string request_id,
                                    Transaction proof) {
  const double now = context_.runtime.clock.wall_seconds();
  const auto free = [now, &request_id](Node& node) {
    if (node.allocated_to != request_id) return false;
    if (node.state == NodeState::init) node.set_state(NodeState::deleting, now);
    node.allocated_to.reset();
    return true;
  };
  Task<model::NodeChange> changing = model::change_node(
      context_.runtime, context_.store, context_.records.nodes, node_id, free, std::move(proof));
  const model::NodeChange change = co_await std::move(changing);
  co_return change != model::NodeChange::locked&& change != model::NodeChange::outdated;
}

// --- remains of requests and nodes

bool CleanupWorker::is_orphan(const Node& node) const {
  if (node.state != NodeState::init) return false;
  if (node.allocated_to && context_.records.requests.find(*node.allocated_to) != nullptr)
    return false;
  const double age = context_.runtime.clock.wall_seconds() - node.state_time;
  return age > (node.allocated_to ? kLaunchStartTimeout : kRegistrationTimeout);
}

Task<> CleanupWorker::delete_orphans() {
  const model::IdSet ids = context_.records.nodes.initial();
  for (const std::string& id : ids) {
    const Node* known = context_.records.nodes.find(id);
    if (known == nullptr || !is_orphan(*known)) continue;
    // The table may not have the request yet. A deleted request never comes back.
    const std::string request = known->allocated_to.value_or("");
    if (!request.empty() && co_await context_.store.exists(model::request_path(request))) continue;
    const auto is_due = [this](const Node& node) { return is_orphan(node); };
    Task<bool> retiring = lifecycle::retire(context_.node_writer(), id, is_due);
    if (!co_await std::move(retiring)) continue;
    log_.about({}, {}, id).info("Deleting the node, its launch never started");
  }
}

// Whether another launcher removes the lock of the request: if all tried, all but one would fail.
bool CleanupWorker::falls_to_peer(const std::string& request_id) const {
  std::vector<const model::Component*> pools = context_.records.components.pools();
  std::erase_if(pools, [](const model::Component* pool) {
    return implementation_of(*pool) != model::Implementation::this_nodepool;
  });
  return !pools.empty() && !own_pools_.contains(planning::preferred(request_id, pools));
}

Task<> CleanupWorker::remove_request_locks() {
  const auto exists = [this](const std::string& id) {
    const model::RequestTable& requests = context_.records.requests;
    return requests.find(id) != nullptr || requests.is_unreadable(id);
  };
  std::erase_if(gone_requests_, exists);  // a sweep may have seen the lock before the request
  if (sweep_due_) {
    const auto ids =
        co_await coordination::find_children(context_.store, std::string(model::kRequestLocksRoot));
    sweep_due_ = false;
    for (const std::string& id : ids) {
      if (!exists(id) && !falls_to_peer(id)) gone_requests_.insert(id);
    }
  }
  const std::vector<std::string> ids(gone_requests_.begin(), gone_requests_.end());
  for (std::size_t first = 0; first < ids.size(); first += kLocksAtOnce) {
    const std::size_t last = std::min(first + kLocksAtOnce, ids.size());
    Transaction transaction;
    for (std::size_t i = first; i < last; ++i) {
      transaction.remove(model::request_lock_path(ids[i]));
    }
    bool one_by_one = false;
    try {
      co_await context_.store.commit(std::move(transaction));
    } catch (const StoreError& error) {
      if (!error.is_rejection() && error.kind() != StoreError::Kind::not_permitted) throw;
      one_by_one = true;  // one is gone, has contenders, or is protected
    }
    for (std::size_t i = first; i < last; ++i) {
      if (one_by_one) {
        co_await isolated(remove_request_lock(ids[i]));
      } else {
        gone_requests_.erase(ids[i]);
      }
    }
  }
}

// A lock with contenders is retried later: they give up when they find no request.
Task<> CleanupWorker::remove_request_lock(std::string request_id) {
  try {
    co_await context_.store.remove(model::request_lock_path(request_id), coordination::kAnyVersion);
  } catch (const StoreError& error) {
    if (!error.is_rejection()) throw;
    if (error.kind() == StoreError::Kind::not_empty) co_return;
  }
  gone_requests_.erase(request_id);
}

Task<> CleanupWorker::remove_empty_nodes() {
  const model::IdSet ids = context_.records.nodes.empty_records();
  for (const std::string& id : ids) {
    const coordination::Entry entry = co_await context_.store.get(model::node_path(id));
    if (!entry.data.empty()) continue;
    co_await coordination::remove_tree(context_.store, model::node_path(id));
    log_.about({}, {}, id).info("Removed the empty record of a node");
  }
}

}  // namespace nodepool::launcher
