#include "launcher/lease_worker.h"

#include <algorithm>

#include "coordination/path.h"
#include "model/lease.h"
#include "model/paths.h"

namespace nodepool::launcher {

namespace {

using coordination::StoreError;
using coordination::Transaction;
using model::Node;
using model::NodeState;

// Before another attempt when a lease could not be ended.
constexpr auto kRetryPause = std::chrono::seconds(5);

// Seconds. Expiry is a wall-clock time: a clock that is set forward is noticed within this.
constexpr double kLongestSleep = 60;

}  // namespace

LeaseWorker::LeaseWorker(LauncherContext& context)
    : context_(context),
      log_(context.log.child("LeaseWorker")),
      scope_(context.runtime, context.report_to(log_)) {}

void LeaseWorker::start() {
  subscriptions_.push_back(context_.nodes.observe(
      [this](const model::NodeTable::Change& change) { look_at(change.id); }));
  for (const auto& [id, node] : context_.nodes.all()) look_at(id);
  scope_.spawn("LeaseWorker", run());
}

Task<> LeaseWorker::stop() {
  subscriptions_.clear();
  co_await scope_.stop();
}

void LeaseWorker::forget(const std::string& id) {
  const auto known = expiry_.find(id);
  if (known == expiry_.end()) return;
  next_to_expire_.erase({known->second, id});
  expiry_.erase(known);
}

void LeaseWorker::look_at(const std::string& id) {
  forget(id);
  const Node* node = context_.nodes.find(id);
  if (node == nullptr || node->state != NodeState::in_use) return;
  const std::optional<model::Lease> lease = model::lease_of(*node);
  if (!lease) return;
  expiry_[id] = lease->expires;
  next_to_expire_.emplace(lease->expires, id);
  changed_.set();
}

Task<> LeaseWorker::run() {
  while (true) {
    if (next_to_expire_.empty()) {
      co_await changed_.wait();
      continue;
    }
    const auto [expires, id] = *next_to_expire_.begin();
    const double left = expires - context_.runtime.clock.wall_seconds();
    if (left > 0) {
      const auto pause = std::chrono::duration_cast<async::Duration>(
          std::chrono::duration<double>(std::min(left, kLongestSleep)));
      co_await changed_.wait_until(context_.runtime.clock, context_.runtime.clock.now() + pause);
      continue;
    }
    forget(id);
    scope_.spawn("end the lease of node " + id, reclaim(id));
  }
}

// The holder's contender and the node's state in one transaction: it is refused if the lease was
// renewed or given back meanwhile.
Task<> LeaseWorker::reclaim(std::string id) {
  bool failed = false;
  try {
    const coordination::Entry entry = co_await context_.store.get(model::node_path(id));
    Node node = model::parse_node(id, entry);
    const std::optional<model::Lease> lease = model::lease_of(node);
    if (node.state != NodeState::in_use || !lease ||
        lease->expires > context_.runtime.clock.wall_seconds()) {
      co_return;
    }
    node.set_state(NodeState::used, context_.runtime.clock.wall_seconds());
    const std::string text = to_record(node);
    Transaction transaction;
    transaction.set(model::node_path(id), text, node.stat.version);
    for (const std::string& contender : context_.nodes.contenders(id)) {
      transaction.remove(coordination::join_path(model::node_lock_path(id), contender));
    }
    const auto results = co_await context_.store.commit(std::move(transaction));
    context_.nodes.written(id, text, results.front().stat);
    log_.about({}, lease->id, id).info("The lease of {} has expired", lease->holder);
  } catch (const StoreError& error) {
    log_.about({}, {}, id).debug("Could not end the lease: {}", error.what());
    failed = error.kind() != StoreError::Kind::no_node;
  }
  if (!failed) co_return;
  co_await context_.runtime.clock.sleep_for(kRetryPause);
  look_at(id);
}

}  // namespace nodepool::launcher
