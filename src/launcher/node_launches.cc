#include "launcher/node_launches.h"

#include <fmt/format.h>

#include <algorithm>

#include "async/task_scope.h"
#include "coordination/outage.h"
#include "lifecycle/node_writer.h"
#include "model/paths.h"
#include "model/unseen_nodes.h"
#include "telemetry/log_errors.h"

namespace nodepool::launcher {

namespace {

using coordination::StoreError;
using coordination::TransactionError;
using driver::LaunchError;
using model::Node;
using model::NodeState;

}  // namespace

class NodeLaunches::Launch final : public driver::NodeLaunch {
 public:
  Launch(const ServingContext& context, coordination::LockSet& locks, model::NodeRequest request,
         Node node)
      : context_(context), locks_(locks), request_(std::move(request)), node_(std::move(node)) {}

  Node& node() override { return node_; }
  const model::NodeRequest& request() const override { return request_; }

  void attempt_ended(const driver::LaunchTrace& trace) override {
    context_.history.attempt_ended(node_.id, request_.id, trace);
  }

  // The cloud of a pool of the same provider is the same. A paused pool accepts nothing now.
  bool may_be_left_to_others() const override {
    const model::NodeRequest* current = context_.records.requests.find(request_.id);
    if (current == nullptr) return false;
    return std::ranges::any_of(
        context_.records.components.pools(), [&](const model::Component* pool) {
          const bool is_wanted = !current->provider || *current->provider == pool->provider_name;
          return pool->provider_name != node_.provider && is_wanted && !pool->paused &&
                 pool->supports(current->node_types) && !current->declined(pool->id);
        });
  }

  Task<> save() override {
    return lifecycle::save_locked(context_.node_writer(), node_, locks_.lock(lock));
  }

  std::size_t lock = 0;  // its index, once the node is locked

 private:
  const ServingContext& context_;
  coordination::LockSet& locks_;
  model::NodeRequest request_;
  Node node_;
};

NodeLaunches::NodeLaunches(const ServingContext& context, ProviderInService provider,
                           PoolIdentity pool, coordination::LockSet& locks, telemetry::Logger log)
    : context_(context),
      provider_(std::move(provider)),
      pool_(std::move(pool)),
      locks_(locks),
      log_(std::move(log)),
      stages_(context.metrics, context.runtime.clock, pool_.provider),
      session_(context.store.session_id()) {}

NodeLaunches::~NodeLaunches() = default;

// --- records

void NodeLaunches::create_in(model::RecordBatch& batch, const model::NodeRequest& request,
                             const std::vector<std::string>& labels,
                             const std::optional<std::string>& zone) {
  // Fails in a store that was emptied, until the new owner tag is known.
  if (!context_.installation->id.empty()) {
    batch.transaction().check(std::string(model::kInstallationPath));
  }
  newest_known_ = context_.records.nodes.newest_id();
  const double now = context_.runtime.clock.wall_seconds();
  if (!labels.empty()) stages_.reached_after("decided", now - request.stat.created());
  for (const std::string& label : labels) {
    Node node;
    node.set_state(NodeState::init, now);
    node.created_time = now;
    node.type = {label};
    node.provider = pool_.provider;
    node.pool = pool_.name;
    node.launcher = pool_.id;
    node.az = zone;
    node.allocated_to = request.id;
    node.tenant_name = request.tenant_name;
    node.requestor = request.requestor;
    node.attributes = provider_.provider->config().pools().at(pool_.name).node_attributes;
    node.resources = provider_.provider->offer()->label(pool_.name, label).need.to_json();
    launches_.push_back(std::make_unique<Launch>(context_, locks_, request, std::move(node)));
    batch.create(context_.records.nodes, launches_.back()->node());
  }
}

void NodeLaunches::take_over(const model::NodeRequest& request, Node node, std::size_t lock) {
  launches_.push_back(std::make_unique<Launch>(context_, locks_, request, std::move(node)));
  launches_.back()->lock = lock;
}

Task<std::vector<RequestedNode>> NodeLaunches::created(std::int64_t transaction) {
  std::vector<RequestedNode> nodes;
  const bool has_ids = !launches_.front()->node().id.empty();
  if (!has_ids && !co_await find_created(transaction)) co_return nodes;
  for (const auto& launch : launches_) {
    const std::string& id = launch->node().id;
    launch->lock = locks_.add(model::node_lock_path(id), /*root_exists=*/false);
    nodes.push_back({id, launch->lock});
  }
  co_return nodes;
}

// Finds the records that the transaction created. The store may have joined it with the
// transactions of other requests. Returns whether all were found.
Task<bool> NodeLaunches::find_created(std::int64_t transaction) {
  co_await model::read_unseen_nodes(context_.runtime, context_.store, context_.records.nodes, {});
  const auto& known = context_.records.nodes.all();
  auto launch = launches_.begin();
  for (auto entry = known.upper_bound(newest_known_); entry != known.end(); ++entry) {
    if (launch == launches_.end()) break;
    const Node& node = entry->second;
    const bool is_own =
        node.stat.czxid == transaction && node.allocated_to == (*launch)->node().allocated_to;
    if (is_own) (*launch++)->node() = node;
  }
  co_return launch == launches_.end();
}

// --- quota

Task<bool> NodeLaunches::fit(const QuotaBounds& bounds) {
  // Reads records of other launchers whose events may not have arrived yet.
  co_await model::read_unseen_nodes(context_.runtime, context_.store, context_.records.nodes,
                                    launches_.front()->node().id);
  co_return !exceeds(bounds);
}

bool NodeLaunches::exceeds(const QuotaBounds& bounds) const {
  const auto exceeds_limits = [](const driver::Limits& limits, const Resources& taken) {
    return excess(limits, taken, {}).has_value();
  };
  const ResourceUsage& usage = context_.usage;
  const std::string& provider = pool_.provider;
  const std::string tenant = launches_.front()->node().tenant_name.value_or("");
  const std::string& last = launches_.back()->node().id;
  // Usually everything is within the limits, so the order does not matter.
  return (exceeds_limits(bounds.provider, usage.of_provider(provider)) &&
          exceeds_limits(bounds.provider, usage.of_provider_until(provider, last))) ||
         (exceeds_limits(bounds.pool, usage.of_pool(provider, pool_.name)) &&
          exceeds_limits(bounds.pool, usage.of_pool_until(provider, pool_.name, last))) ||
         (exceeds_limits(bounds.tenant, usage.of_tenant(tenant)) &&
          exceeds_limits(bounds.tenant, usage.of_tenant_until(tenant, last)));
}

// --- launching

Task<NodeLaunches::Step> NodeLaunches::begin() {
  Attempt attempt = co_await try_to_begin();
  while (attempt == Attempt::unknown) {
    co_await coordination::wait_for_store(context_.runtime, context_.store);
    if (context_.store.session_id() != session_) {
      throw StoreError(StoreError::Kind::session_expired, "the session was lost");
    }
    attempt = co_await read_again();
    if (attempt == Attempt::done) attempt = co_await try_to_begin();
  }
  if (attempt == Attempt::refused) co_return Step::refused;
  stages_.reached("reserved");
  co_return Step::done;
}

Task<NodeLaunches::Attempt> NodeLaunches::try_to_begin() {
  model::RecordBatch building;
  for (const auto& launch : launches_) {
    Node& node = launch->node();
    node.set_state(NodeState::building, context_.runtime.clock.wall_seconds());
    building.write(context_.records.nodes, node, &node.stat);
  }
  bool acquired = false;
  try {
    const auto taken = co_await locks_.try_acquire(std::move(building.transaction()));
    acquired = taken.kind == coordination::LockSet::Outcome::Kind::acquired;
  } catch (const TransactionError& error) {
    log_.warning("A node was changed before it could be launched: {}", error.what());
  } catch (const StoreError& error) {
    if (!coordination::may_recover(error)) throw;
    co_return Attempt::unknown;
  }
  if (!acquired) co_return Attempt::refused;
  building.committed(locks_.also_results());
  co_return Attempt::done;
}

// After begin() lost the response of its commit: the records must be its own or unchanged.
Task<NodeLaunches::Attempt> NodeLaunches::read_again() {
  try {
    for (const auto& launch : launches_) {
      Node& node = launch->node();
      const coordination::Entry entry = co_await context_.store.get(model::node_path(node.id));
      const bool is_own = entry.stat.version == node.stat.version || entry.data == to_record(node);
      if (!is_own) co_return Attempt::refused;
      node.stat = entry.stat;
      context_.records.nodes.written(node, entry.stat);
    }
  } catch (const StoreError& error) {
    if (error.is_rejection()) co_return Attempt::refused;
    if (!coordination::may_recover(error)) throw;
    co_return Attempt::unknown;
  }
  co_return Attempt::done;
}

Task<NodeLaunches::Step> NodeLaunches::begin_again() {
  model::RecordBatch building;
  const model::NodeRequest& request = launches_.front()->request();
  building.transaction().check(model::request_path(request.id), request.stat.version);
  for (const auto& launch : launches_) {
    Node& node = launch->node();
    node.set_state(NodeState::building, context_.runtime.clock.wall_seconds());
    node.launcher = pool_.id;
    locks_.lock(launch->lock).check_in(building.transaction());
    building.write(context_.records.nodes, node, &node.stat);
  }
  try {
    co_await building.commit_until_known(context_.runtime, context_.store);
  } catch (const TransactionError& error) {
    log_.debug("Not resumed, a record has changed meanwhile: {}", error.what());
    co_return Step::refused;
  }
  co_return Step::done;
}

Task<NodeLaunches::Outcome> NodeLaunches::run() {
  async::TaskScope scope(context_.runtime, telemetry::log_errors(log_));
  bool is_session_lost = false;
  const coordination::Subscription session =
      context_.store.on_session([&](coordination::SessionState state) {
        if (state != coordination::SessionState::expired) return;
        is_session_lost = true;
        scope.cancel();
      });
  for (const auto& launch : launches_) {
    scope.spawn("launch node " + launch->node().id, run_one(*launch));
  }
  co_await scope.join_or_stop();
  if (is_session_lost) {
    throw StoreError(StoreError::Kind::session_expired,
                     "the session was lost, and with it the locks of the nodes");
  }
  if (failed_) co_return Outcome::failed;
  if (!failure_.empty()) co_return Outcome::unanswered;
  if (lost_) co_return Outcome::lost;
  if (refused_) co_return Outcome::refused;
  co_return replaced_ ? Outcome::replaced : Outcome::ready;
}

Task<> NodeLaunches::run_one(Launch& launch) {
  const auto log =
      log_.about(launch.request().event_id.value_or(""), launch.request().id, launch.node().id);
  std::string failure;
  auto state = NodeState::ready;
  bool lost = false;
  bool replaced = false;
  bool is_answered = true;
  try {
    co_await launch_in_turn(launch, log);
  } catch (const async::Cancelled&) {
    throw;
  } catch (const LaunchError& error) {
    failure = error.what();
    replaced = error.kind() == LaunchError::Kind::replaced;
    state = error.kind() == LaunchError::Kind::quota ? NodeState::aborted : NodeState::failed;
    is_answered = error.kind() != LaunchError::Kind::unanswered;
    if (!is_answered) queries_before_ = provider_.quota->queries();
  } catch (const StoreError& error) {
    failure = error.what();
    // A text of the cloud makes the record too large. Any other error means that the node was lost.
    lost = error.kind() != StoreError::Kind::too_large;
    state = NodeState::failed;
  } catch (const std::exception& error) {
    failure = error.what();
    state = NodeState::failed;
  }
  if (replaced) {
    log.warning("Leaving the launch of the node to the replaced provider's successor: {}", failure);
    replaced_ = true;
  } else if (lost) {
    log.warning("Abandoning the launch of the node: {}", failure);
    lost_ = true;
  } else if (state != NodeState::ready) {
    log.error("Launch of node failed: {}", failure);
    co_await end(launch, state);
    if (state == NodeState::aborted) {
      refused_ = true;
      provider_.quota->refused({pool_.name, launch.node().type.front()});
    } else {
      failed_ = failed_ || is_answered;
      if (failure_.empty()) failure_ = failure;
    }
  }
  // After a refusal was noted: this has waiting requests decided again.
  provider_.quota->launches()->end_one(launch.request().id);
}

// The node is lost, without a launch, if its request was withdrawn before its turn.
Task<> NodeLaunches::launch_in_turn(Launch& launch, const telemetry::Logger& log) {
  driver::LaunchStages stages(context_.metrics, context_.runtime.clock, pool_.provider);
  const auto slot = co_await provider_.quota->launch_slot();
  stages.reached("turn");
  const bool is_withdrawn =
      context_.records.ready() && context_.records.requests.find(launch.request().id) == nullptr;
  if (is_withdrawn) {
    log.info("Not launching the node: its request was withdrawn");
    lost_ = true;
    co_return;
  }
  log.info("Launching node with label {}", launch.node().type.front());
  co_await provider_.provider->launching()->launch(launch);
  stages.begin();
  launch.node().set_state(NodeState::ready, context_.runtime.clock.wall_seconds());
  co_await launch.save();
  stages.reached("ready");
  log.info("Node is ready");
}

// A record that is no longer this launcher's is left as it is, for its new owner.
Task<> NodeLaunches::end(Launch& launch, NodeState state) {
  launch.node().set_state(state, context_.runtime.clock.wall_seconds());
  try {
    co_await launch.save();
  } catch (const StoreError& error) {
    log_.debug("Node {} could not be written as {}: {}", launch.node().id, to_string(state),
               error.what());
  }
}

}  // namespace nodepool::launcher
