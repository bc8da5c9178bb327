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

namespace nodepool::launcher {

namespace {

using coordination::StoreError;
using coordination::Transaction;
using model::Node;
using model::NodeRequest;
using model::NodeState;
using model::RequestState;

// Requests that another launcher gives up without dying, and empty records, give no sign: the
// reference's cleanup interval.
constexpr auto kCleanupInterval = std::chrono::seconds(60);

// Seconds. A node is recorded before its launch begins: until then it looks like one that was left.
constexpr double kLaunchBegins = 300;

// Seconds. A record that is for no request is a static host's, until its launcher has seen that it
// is the first; while it is there the host is not registered anew.
constexpr double kRegistrationEnds = 5;

// What happens in quick succession is dealt with together.
constexpr auto kGathering = std::chrono::seconds(5);

// How long launches that were interrupted are left to whoever goes on with them.
constexpr auto kInterruptedPause = std::chrono::seconds(30);

// Locks removed in one transaction.
constexpr std::size_t kLocksAtOnce = 100;

}  // namespace

CleanupWorker::CleanupWorker(const WorkerContext& context, const DepartedPools& departed_pools)
    : context_(context),
      departed_pools_(departed_pools),
      log_(context.log.child("CleanupWorker")),
      scope_(context.runtime, context.report_to(log_)) {}

void CleanupWorker::start() {
  subscriptions_.push_back(
      context_.records.requests.observe([this](const model::RequestTable::Change& change) {
        if (change.after != nullptr) return observe_changes();
        gone_requests_.insert(change.id);
        run_soon();
      }));
  subscriptions_.push_back(context_.records.nodes.observe(
      [this](const model::NodeTable::Change&) { observe_changes(); }));
  subscriptions_.push_back(
      context_.records.components.observe([this](const model::ComponentTable::Change& change) {
        if (change.after == nullptr) run_soon();
      }));
  subscriptions_.push_back(context_.records.observe_ready([this] {
    sweep_due_ = true;  // some may have gone unseen
    run_soon();
  }));
  run_soon();
  scope_.spawn("CleanupWorker", run());
}

Task<> CleanupWorker::stop() {
  subscriptions_.clear();
  co_await scope_.stop();
}

void CleanupWorker::run_soon() {
  look_is_due_ = true;
  wake_.set();
}

void CleanupWorker::observe_changes() {
  if (is_at_rest_ && has_something_to_watch()) wake_.set();
}

bool CleanupWorker::has_something_to_watch() const {
  return !context_.records.requests.pending().empty() ||
         !context_.records.requests.waiting().empty() ||
         !context_.records.nodes.initial().empty() ||
         !context_.records.nodes.empty_records().empty();
}

// Returns when something has happened, or there has been something to watch for an interval.
Task<> CleanupWorker::wait_until_due() {
  while (!look_is_due_ && !has_something_to_watch()) {
    is_at_rest_ = true;
    co_await wake_.wait();
    is_at_rest_ = false;
  }
  const auto end = std::min(context_.runtime.clock.now() + kCleanupInterval, next_look_);
  while (!look_is_due_ && co_await wake_.wait_until(context_.runtime.clock, end)) {
  }
  look_is_due_ = false;
}

Task<> CleanupWorker::run() {
  while (true) {
    co_await wait_until_due();
    co_await context_.runtime.clock.sleep_for(kGathering);
    if (!context_.records.ready()) continue;
    std::string failure;
    try {
      co_await look();
    } catch (const async::Cancelled&) {
      throw;
    } catch (const std::exception& error) {
      failure = error.what();
    }
    if (!failure.empty()) log_.warning("Not everything could be cleaned up: {}", failure);
  }
}

Task<> CleanupWorker::look() {
  const model::IdSet pending = context_.records.requests.pending();
  std::erase_if(interrupted_, [&](const auto& entry) { return !pending.contains(entry.first); });
  next_look_ = async::Clock::TimePoint::max();
  for (const std::string& id : pending) co_await reset_if_lost(id);
  std::vector<std::string> waiting;
  for (const auto& [order, id] : context_.records.requests.waiting()) {
    if (!context_.records.nodes.allocated_to(id).empty()) waiting.push_back(id);
  }
  for (const std::string& id : waiting) co_await free_stranded_nodes(id);
  co_await delete_orphans();
  co_await remove_request_locks();
  co_await remove_empty_nodes();
}

// --- lost requests

// Whether the launches have begun, and those who serve their pool still have time to go on.
bool CleanupWorker::is_deferred_to_peer(const NodeRequest& request) {
  const model::IdSet& nodes = context_.records.nodes.allocated_to(request.id);
  const bool can_be_resumed = nodes.size() == request.node_types.size() &&
                              std::ranges::all_of(nodes, [this](const std::string& id) {
                                const NodeState state = context_.records.nodes.find(id)->state;
                                return state == NodeState::building || state == NodeState::ready;
                              });
  if (!can_be_resumed) return false;
  const auto now = context_.runtime.clock.now();
  const auto since = interrupted_.try_emplace(request.id, now).first->second;
  const async::Duration patience =
      may_be_served_by_others(request)
          ? async::Duration(kInterruptedPause)
          : std::max<async::Duration>(kInterruptedPause, departed_pools_.patience());
  if (now >= since + patience) return false;
  next_look_ = std::min(next_look_, since + patience);
  return true;
}

bool CleanupWorker::may_be_served_by_others(const NodeRequest& request) const {
  return std::ranges::any_of(
      context_.records.components.pools(), [&](const model::Component* pool) {
        return pool->supports(request.node_types) && !request.declined(pool->id);
      });
}

// As the store says now: only requests of which it is certain that somebody works on them are
// passed without a write.
Task<bool> CleanupWorker::is_locked(std::string request_id) {
  std::vector<std::string> line;
  try {
    line = co_await context_.store.children(model::request_lock_path(request_id));
  } catch (const StoreError& error) {
    if (error.kind() != StoreError::Kind::no_node) throw;
  }
  co_return !line.empty();
}

Task<> CleanupWorker::reset_if_lost(std::string request_id) {
  const NodeRequest* known = context_.records.requests.find(request_id);
  if (known == nullptr) co_return;
  const model::IdSet& nodes = context_.records.nodes.allocated_to(request_id);
  const bool is_worked_on = std::ranges::any_of(
      nodes, [this](const std::string& id) { return context_.records.nodes.is_locked(id); });
  if (is_worked_on) interrupted_.erase(request_id);
  if (is_worked_on || is_deferred_to_peer(*known)) co_return;
  if (co_await is_locked(request_id)) co_return;
  coordination::Lock lock(context_.store, context_.runtime.random,
                          model::request_lock_path(request_id));
  if (!co_await lock.try_acquire()) co_return;  // somebody works on it
  Task<> resetting = reset_if_pending(std::move(request_id), lock);
  co_await coordination::with_lock(lock, std::move(resetting));
}

Task<> CleanupWorker::reset_if_pending(std::string request_id, coordination::Lock& lock) {
  try {
    const coordination::Entry entry = co_await context_.store.get(model::request_path(request_id));
    NodeRequest request = model::parse_node_request(request_id, entry);
    if (request.state == RequestState::pending) co_await reset(std::move(request), lock);
  } catch (const StoreError& error) {
    if (!error.is_answer()) throw;
  }
}

Task<> CleanupWorker::reset(NodeRequest request, coordination::Lock& lock) {
  const auto log = log_.about(request.event_id.value_or(""), request.id);
  const model::IdSet nodes = context_.records.nodes.allocated_to(request.id);
  for (const std::string& id : nodes) {
    Transaction proof;
    proof.check(model::request_path(request.id), request.stat.version);
    lock.check_in(proof);
    if (!co_await free_node(id, request.id, std::move(proof))) co_return;  // left for the next look
  }
  request.nodes.clear();
  request.set_state(RequestState::requested, context_.runtime.clock.wall_seconds());
  model::RecordBatch batch;
  batch.write(context_.records.requests, std::move(request));
  lock.release_in(batch.transaction());
  co_await batch.commit(context_.store);
  lock.released();
  log.info("Nobody was working on the pending request, it is requested again");
}

// A launcher that could not learn what became of its last writes may have put the request back, and
// left it a node. Of the request as it is read first, which waits, no node is in use; that it is
// still that one is proven with the write.
Task<> CleanupWorker::free_stranded_nodes(std::string request_id) {
  NodeRequest request;
  try {
    const coordination::Entry entry = co_await context_.store.get(model::request_path(request_id));
    request = model::parse_node_request(request_id, entry);
  } catch (const StoreError& error) {
    if (!error.is_answer()) throw;
    co_return;  // it is gone, and its nodes are freed for that
  }
  if (request.state != RequestState::requested) co_return;
  const model::IdSet nodes = context_.records.nodes.allocated_to(request_id);
  for (const std::string& id : nodes) {
    Transaction proof;
    proof.check(model::request_path(request_id), request.stat.version);
    if (!co_await free_node(id, request_id, std::move(proof))) continue;
    context_.about(log_, request_id, id)
        .info("Unallocated the node, its request is waiting without it");
  }
}

// Returns whether the request no longer has the node.
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

// --- what is left of requests and nodes

bool CleanupWorker::is_orphan(const Node& node) const {
  if (node.state != NodeState::init) return false;
  if (node.allocated_to && context_.records.requests.find(*node.allocated_to) != nullptr)
    return false;
  const double age = context_.runtime.clock.wall_seconds() - node.state_time;
  return age > (node.allocated_to ? kLaunchBegins : kRegistrationEnds);
}

Task<> CleanupWorker::delete_orphans() {
  const model::IdSet ids = context_.records.nodes.initial();
  for (const std::string& id : ids) {
    const Node* known = context_.records.nodes.find(id);
    if (known == nullptr || !is_orphan(*known)) continue;
    // The table may not know the request yet; one that is gone from the store does not come back.
    const std::string request = known->allocated_to.value_or("");
    if (!request.empty() && co_await context_.store.exists(model::request_path(request))) continue;
    const double now = context_.runtime.clock.wall_seconds();
    const auto give_up = [this, now](Node& node) {
      if (!is_orphan(node)) return false;
      node.set_state(NodeState::deleting, now);
      return true;
    };
    Task<model::NodeChange> changing =
        model::change_node(context_.runtime, context_.store, context_.records.nodes, id, give_up);
    if (co_await std::move(changing) != model::NodeChange::written) continue;
    log_.about({}, {}, id).info("Deleting the node, its launch never began");
  }
}

Task<> CleanupWorker::remove_request_locks() {
  if (std::exchange(sweep_due_, false)) {
    const auto ids = co_await context_.store.children(std::string(model::kRequestLocksRoot));
    for (const std::string& id : ids) {
      if (context_.records.requests.find(id) == nullptr) gone_requests_.insert(id);
    }
  }
  std::vector<std::string> ids(gone_requests_.begin(), gone_requests_.end());
  gone_requests_.clear();
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
      if (!error.is_answer()) throw;
      one_by_one = true;  // one of them is gone already, or somebody stands in line
    }
    for (std::size_t i = first; one_by_one && i < last; ++i) {
      co_await remove_request_lock(ids[i]);
    }
  }
}

// A lock that somebody stands in line for is left to them: they find no request.
Task<> CleanupWorker::remove_request_lock(std::string request_id) {
  try {
    co_await context_.store.remove(model::request_lock_path(request_id), coordination::kAnyVersion);
  } catch (const StoreError& error) {
    if (!error.is_answer()) throw;
    if (error.kind() == StoreError::Kind::not_empty) gone_requests_.insert(request_id);
  }
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
