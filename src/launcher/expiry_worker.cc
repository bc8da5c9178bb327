#include "launcher/expiry_worker.h"

#include <algorithm>

#include "coordination/lock.h"
#include "coordination/outage.h"
#include "coordination/path.h"
#include "model/change_node.h"
#include "model/lease.h"
#include "model/paths.h"
#include "model/record_batch.h"
#include "telemetry/log_errors.h"

namespace nodepool::launcher {

namespace {

using coordination::StoreError;
using model::Node;
using model::NodeState;

// Before the next attempt after a node was locked or the store failed.
constexpr auto kLeaseRetryPause = std::chrono::seconds(5);

// Seconds left to the launchers that serve the provider.
constexpr double kPeerPrecedence = 10;

// Seconds. Bounds the delay after the wall clock was set forward.
constexpr double kLongestSleep = 60;

// A lease starts when its node becomes `in-use`.
double lease_expiry(const Node& node, const model::Lease& lease, const NodeAges& ages) {
  if (!ages.max_lease) return lease.expires;
  return std::min(lease.expires, node.state_time + static_cast<double>(*ages.max_lease));
}

std::optional<double> hold_expiry(const Node& node, const NodeAges& ages) {
  std::optional<std::int64_t> limit;
  if (ages.max_hold_age && *ages.max_hold_age > 0) limit = ages.max_hold_age;
  if (node.hold_expiration && *node.hold_expiration > 0) {
    limit = std::min(limit.value_or(*node.hold_expiration), *node.hold_expiration);
  }
  if (!limit) return std::nullopt;
  return node.state_time + static_cast<double>(*limit);
}

std::optional<double> ready_expiry(const Node& node, const NodeAges& ages) {
  if (node.allocated_to) return std::nullopt;
  std::optional<double> first;
  for (const std::string& label : node.type) {
    const auto age = ages.max_ready_age.find(label);
    if (age == ages.max_ready_age.end() || age->second <= 0) continue;
    const double end = node.state_time + static_cast<double>(age->second);
    first = std::min(first.value_or(end), end);
  }
  return first;
}

}  // namespace

std::optional<double> expiry(const Node& node, const NodeAges& ages) {
  switch (node.state) {
    case NodeState::in_use: {
      const std::optional<model::Lease> lease = model::lease_of(node);
      return lease ? std::optional(lease_expiry(node, *lease, ages)) : std::nullopt;
    }
    case NodeState::hold:
      return hold_expiry(node, ages);
    case NodeState::ready:
      return ready_expiry(node, ages);
    default:
      return std::nullopt;
  }
}

ExpiryWorker::ExpiryWorker(const WorkerContext& context, const Providers& providers)
    : context_(context),
      providers_(providers),
      log_(context.log.child("ExpiryWorker")),
      scope_(context.runtime, telemetry::log_errors(log_)) {}

void ExpiryWorker::start() {
  subscriptions_.push_back(context_.records.nodes.observe(
      [this](const model::NodeTable::Change& change) { reevaluate(change.id); }));
  reevaluate_all();
  scope_.spawn("ExpiryWorker", run());
}

void ExpiryWorker::reconfigure(NodeAges ages) {
  ages_ = std::move(ages);
  reevaluate_all();
}

Task<> ExpiryWorker::stop() {
  subscriptions_.clear();
  co_await scope_.stop();
}

void ExpiryWorker::reevaluate_all() {
  for (const auto& [id, node] : context_.records.nodes.all()) reevaluate(id);
}

void ExpiryWorker::forget(const std::string& id) {
  const auto known = expiry_.find(id);
  if (known == expiry_.end()) return;
  next_to_expire_.erase({known->second, id});
  expiry_.erase(known);
}

void ExpiryWorker::reevaluate(const std::string& id) {
  forget(id);
  if (ending_.contains(id)) return;
  const Node* node = context_.records.nodes.find(id);
  if (node == nullptr) return;
  const std::optional<double> end = expiry_of(*node);
  if (!end) return;
  expiry_[id] = *end;
  next_to_expire_.emplace(*end, id);
  changed_.set();
}

// The Python Nodepool does not know leases: they end on the nodes of its providers too, without the
// limits of this launcher. Another launcher may serve the provider: it goes first.
std::optional<double> ExpiryWorker::expiry_of(const Node& node) const {
  if (node.provider && providers_.contains(*node.provider)) return expiry(node, ages_);
  if (node.state != NodeState::in_use) return std::nullopt;
  const std::optional<double> end = expiry(node, NodeAges());
  return end ? std::optional(*end + kPeerPrecedence) : std::nullopt;
}

bool ExpiryWorker::is_due(const Node& node) const {
  const std::optional<double> end = expiry_of(node);
  return end && *end <= context_.runtime.clock.wall_seconds();
}

Task<> ExpiryWorker::run() {
  while (true) {
    if (next_to_expire_.empty()) {
      co_await changed_.wait();
      continue;
    }
    const auto [when, id] = *next_to_expire_.begin();
    const double left = when - context_.runtime.clock.wall_seconds();
    if (left > 0) {
      const auto pause = std::chrono::duration_cast<async::Duration>(
          std::chrono::duration<double>(std::min(left, kLongestSleep)));
      co_await changed_.wait_until(context_.runtime.clock, context_.runtime.clock.now() + pause);
      continue;
    }
    forget(id);
    ending_.insert(id);
    scope_.spawn("end of node " + id, end(id));
  }
}

Task<> ExpiryWorker::end(std::string id) {
  co_await try_to_end(id);
  // If it is still due, it is locked or has changed: retry.
  const Node* node = context_.records.nodes.find(id);
  if (node != nullptr && is_due(*node)) {
    co_await context_.runtime.clock.sleep_for(kLeaseRetryPause);
  } else {
    reported_.erase(id);
  }
  ending_.erase(id);
  reevaluate(id);
}

Task<> ExpiryWorker::try_to_end(std::string id) {
  try {
    std::optional<Node> node = co_await model::read_node(context_.store, id);
    const bool due = node && is_due(*node);
    if (due && node->state == NodeState::in_use) {
      co_await end_lease(*std::move(node));
    } else if (due) {
      co_await retire(id);
    }
  } catch (const StoreError& error) {
    // Another launcher may have ended it meanwhile.
    const bool has_changed =
        error.kind() == StoreError::Kind::no_node || error.kind() == StoreError::Kind::bad_version;
    if (!has_changed) report(id, error, coordination::is_outage(error));
  } catch (const model::RecordError& error) {
    report(id, error, false);
  }
}

// A failure that may last is reported once for each node.
void ExpiryWorker::report(const std::string& id, const std::exception& error, bool is_outage) {
  const auto log = log_.about({}, {}, id);
  if (is_outage || !reported_.insert(id).second) {
    log.debug("Retrying: {}", error.what());
  } else {
    log.warning("Error ending the expired node, retrying: {}", error.what());
  }
}

// Removes the lease's contenders and sets the node's state in one transaction, which fails if the
// lease was renewed or released meanwhile. A contender that was queued when the requestor's lock
// became the lease is now before it and has the lock: waits until it is gone. Contenders behind the
// lease stay: they find the node used.
Task<> ExpiryWorker::end_lease(Node node) {
  const model::Lease lease = *model::lease_of(node);
  // Read from the store: the table may be stale.
  const std::string root = model::node_lock_path(node.id);
  const std::vector<std::string> children = co_await context_.store.children(root);
  std::vector<std::string> own;
  for (const std::string& name : coordination::sorted_contenders(children)) {
    const std::string path = coordination::join_path(root, name);
    if (co_await model::is_contender_of_lease(context_.store, path, lease.id)) own.push_back(path);
    if (own.empty()) co_return;
  }
  if (own.empty()) co_return;
  node.set_state(NodeState::used, context_.runtime.clock.wall_seconds());
  const std::string id = node.id;
  model::RecordBatch batch;
  batch.write(context_.records.nodes, std::move(node));
  for (const std::string& contender : own) batch.transaction().remove(contender);
  co_await batch.commit(context_.store);
  log_.about({}, lease.id, id).info("The lease of {} has expired", lease.holder);
}

Task<> ExpiryWorker::retire(std::string id) {
  const double now = context_.runtime.clock.wall_seconds();
  std::string was;
  double age = 0;
  const auto is_still_due = [this, now, &was, &age](const Node& node) {
    was = to_string(node.state);
    age = now - node.state_time;
    return is_due(node) && node.state != NodeState::in_use;
  };
  Task<bool> retiring = lifecycle::retire(context_.node_writer(), id, is_still_due);
  if (!co_await std::move(retiring)) co_return;
  log_.about({}, {}, id).info("Deleting the node, it has been {} for {:.0f} s", was, age);
}

}  // namespace nodepool::launcher
