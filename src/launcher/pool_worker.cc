#include "launcher/pool_worker.h"

#include <fmt/format.h>

#include <algorithm>

#include "launcher/trouble.h"
#include "telemetry/log_errors.h"
#include "telemetry/version.h"

namespace nodepool::launcher {

namespace {

using model::Node;
using model::NodeRequest;
using model::RequestState;
using planning::Reason;
using Outcome = NodeRequestHandler::Outcome;

// Before the next attempt at a request that another process has locked. Request locks cause no
// events, and are held shortly, for example to change the priority.
constexpr auto kLockedPause = std::chrono::milliseconds(250);

// Before the next attempt after the store failed.
constexpr auto kFailurePause = std::chrono::seconds(1);

// Before an interrupted launch is resumed: the tables may be stale and its launcher alive.
constexpr auto kResumePause = std::chrono::milliseconds(250);

RequestQueue::Moment now_of(const async::Clock& clock) {
  const std::chrono::duration<double> steady = clock.now().time_since_epoch();
  return {clock.wall_seconds(), steady.count()};
}

}  // namespace

PoolWorker::PoolWorker(const ServingContext& context, ProviderInService provider, std::string pool)
    : context_(context),
      provider_(std::move(provider)),
      identity_{
          fmt::format("{}-PoolWorker.{}-{}-{}", context.fqdn, provider_.provider->config().name(),
                      pool, context.runtime.random.uuid_hex()),
          provider_.provider->config().name(), pool},
      log_(context.log.child(fmt::format("PoolWorker.{}-{}", identity_.provider, pool))),
      registration_(context.runtime, context.store, log_, component()),
      stock_(context.records.nodes, identity_),
      idle_node_evictor_(context, log_, scope_,
                         [this] {
                           queue_.limits_may_allow_more();
                           wake_.set();
                         }),
      deferral_(context.runtime, scope_, "request",
                [this](const std::string& id) { enqueue_again(id); }),
      scope_(context.runtime, telemetry::log_errors(log_)) {
  stock_.reconfigure(provider_.provider->offer()->pool(identity_.name).inventory);
}

Task<> PoolWorker::start() {
  context_.own_pools.insert(identity_.id);
  co_await registration_.start();
}

bool PoolWorker::is_registered() const {
  return std::ranges::any_of(
      context_.records.components.pools(),
      [this](const model::Component* pool) { return pool->id == identity_.id; });
}

void PoolWorker::serve() {
  observe();
  scope_.spawn("PoolWorker " + identity_.provider + "-" + identity_.name, run());
}

void PoolWorker::reconfigure(ProviderInService provider) {
  provider_ = std::move(provider);
  stock_.reconfigure(provider_.provider->offer()->pool(identity_.name).inventory);
  registration_.update(component());
  observe_provider();
  enqueue_all();
}

Task<> PoolWorker::stop() {
  subscriptions_.clear();
  provider_subscription_.reset();
  co_await scope_.stop();
  // Left by tasks that were cancelled.
  while (!accepted_.empty()) drop_reservation(accepted_.begin()->first);
  while (!starved_.empty()) no_longer_starved(ServiceKey(starved_.begin()->first));
  co_await registration_.stop();
}

Task<> PoolWorker::unregister() {
  context_.departed_pools.forget(identity_.id);
  co_await stop();
  co_await registration_.unregister();
  context_.own_pools.erase(identity_.id);
}

const driver::PoolConfig& PoolWorker::pool_config() const {
  return provider_.provider->config().pools().at(identity_.name);
}

model::Component PoolWorker::component() const {
  const driver::PoolConfig& pool = pool_config();
  model::Component component;
  component.kind = model::Component::Kind::pool;
  component.hostname = context_.hostname;
  component.state = "running";
  component.version = telemetry::version();
  component.id = identity_.id;
  component.name = identity_.name;
  component.provider_name = identity_.provider;
  component.supported_labels.assign(pool.labels.begin(), pool.labels.end());
  component.priority = pool.priority;
  // A pool that does not launch nodes never pauses: its requests wait for it.
  component.paused = provider_.provider->offer()->launches && queue_.is_short_of_capacity();
  return component;
}

void PoolWorker::publish_whether_paused() {
  model::Component current = component();
  if (current.paused != registration_.component().paused) registration_.update(std::move(current));
}

// --- events

void PoolWorker::observe() {
  subscriptions_.push_back(context_.records.requests.observe(
      [this](const model::RequestTable::Change& change) { on_request(change); }));
  subscriptions_.push_back(context_.records.nodes.observe(
      [this](const model::NodeTable::Change& change) { on_node(change.id); }));
  subscriptions_.push_back(
      context_.records.nodes.observe_locks([this](const std::string& id) { on_node(id); }));
  subscriptions_.push_back(context_.records.components.observe(
      [this](const model::ComponentTable::Change& change) { on_component(change); }));
  subscriptions_.push_back(
      context_.handled_requests.observe([this](const std::string& id) { on_release(id); }));
  subscriptions_.push_back(context_.starved.observe([this](const ServiceKey& key) {
    queue_.allow_passing(key);
    wake_if_due();
  }));
  subscriptions_.push_back(context_.departed_pools.observe([this] {
    queue_.registry_has_changed();
    wake_if_due();
  }));
  subscriptions_.push_back(context_.usage.observe([this](const ResourceUsage::Decrease& less) {
    if (less.provider == identity_.provider) queue_.capacity_has_grown();
    if (!less.tenant.empty()) queue_.tenant_takes_less(less.tenant);
    wake_if_due();
  }));
  subscriptions_.push_back(context_.records.observe_ready([this] { enqueue_all(); }));
  observe_provider();
  enqueue_all();
}

void PoolWorker::observe_provider() {
  provider_subscription_ = provider_.quota->observe([this] {
    queue_.launch_has_ended();
    queue_.provider_has_answered();
    queue_.capacity_has_grown();
    wake_.set();
  });
}

void PoolWorker::enqueue_all() {
  for (const auto& [key, id] : context_.records.requests.waiting()) queue_.enqueue(key);
  for (const std::string& id : context_.records.requests.pending()) {
    reevaluate_nodes_of(*context_.records.requests.find(id));
  }
  wake_.set();
}

void PoolWorker::on_request(const model::RequestTable::Change& change) {
  if (change.before != nullptr) {
    queue_.remove(change.before->service_key());
    no_longer_starved(change.before->service_key());
  }
  const bool waits = change.after != nullptr && change.after->state == RequestState::requested;
  if (waits) {
    queue_.enqueue(change.after->service_key());
  } else {
    deferral_.forget(change.id);
    const bool is_pending = change.after != nullptr && change.after->state == RequestState::pending;
    if (!is_pending) retries_.forget(change.id);
  }
  wake_.set();
}

// Another pool of this launcher no longer handles the request.
void PoolWorker::on_release(const std::string& request_id) {
  if (passed_over_.erase(request_id) == 0) return;
  const NodeRequest* request = context_.records.requests.find(request_id);
  if (request == nullptr || request->state != RequestState::requested) return;
  queue_.enqueue(request->service_key());
  wake_.set();
}

// Decisions depend on pools only, not on other components and their problems.
void PoolWorker::on_component(const model::ComponentTable::Change& change) {
  const auto& [id, before, after] = change;
  if ((after != nullptr ? after : before)->kind != model::Component::Kind::pool) return;
  if (before != nullptr && after != nullptr && *before == *after) return;
  queue_.registry_has_changed();
  // The launcher of the new pool may be able to evict idle nodes.
  if (before == nullptr) queue_.limits_may_allow_more();
  wake_if_due();
}

bool PoolWorker::is_own(const Node& node) const {
  return node.provider == identity_.provider && node.pool == identity_.name;
}

void PoolWorker::on_node(const std::string& id) {
  const Node* node = context_.records.nodes.find(id);
  if (node != nullptr && node->allocated_to) reevaluate_launch(*node);
  if (node == nullptr || !context_.records.nodes.is_free(*node)) return;
  if (is_own(*node)) {
    for (const std::string& label : node->type) queue_.label_is_free(label);
  }
  // It may be evicted.
  if (provider_.provider->offer()->launches && node->provider == identity_.provider) {
    queue_.capacity_has_grown();
  }
  if (node->tenant_name) queue_.tenant_takes_less(*node->tenant_name);
  wake_if_due();
}

// Events of all pools reach each pool, and most concern none of its requests.
void PoolWorker::wake_if_due() {
  if (queue_.has_next()) wake_.set();
}

// --- decisions

Task<> PoolWorker::run() {
  while (true) {
    co_await wake_.wait();
    if (!context_.records.ready()) continue;  // observe_ready() enqueues everything
    while (const std::optional<ServiceKey> key = queue_.next()) consider(*key);
    publish_whether_paused();
  }
}

void PoolWorker::consider(const ServiceKey& key) {
  const auto waiting = context_.records.requests.waiting().find(key);
  if (waiting == context_.records.requests.waiting().end()) return;
  const NodeRequest* request = context_.records.requests.find(waiting->second);
  if (request == nullptr || in_progress_.contains(request->id)) return;
  if (context_.handled_requests.contains(request->id)) {
    passed_over_.insert(request->id);
    return;
  }
  carry_out(key, *request, planning::decide(*request, facts()));
}

void PoolWorker::carry_out(const ServiceKey& key, const NodeRequest& request, Verdict verdict) {
  const Decision& decision = verdict.decision;
  const auto log = log_.about(request.event_id.value_or(""), request.id);
  switch (decision.kind) {
    case Decision::Kind::ignore:
      queue_.remove(key);
      return;
    case Decision::Kind::wait:
      log.debug("Waiting: {}", sentence(decision.reason));
      context_.history.decided(request.id, identity_.id, decision);
      queue_.wait(key, request, decision, now_of(context_.runtime.clock));
      publish_if_starved(request, decision);
      choose_eviction(request, decision, std::move(verdict.reservation.plan));
      return;
    case Decision::Kind::accept:
      if (defers_to_peer(request)) return;
      log.info("Assigning node request");
      context_.history.decided(request.id, identity_.id, decision);
      accept(request, std::move(verdict));
      return;
    case Decision::Kind::decline:
    case Decision::Kind::fail:
      queue_.remove(key);
      in_progress_.insert(request.id);
      scope_.spawn("request " + request.id, decline(request.id, decision.reason,
                                                    context_.handled_requests.mark(request.id)));
  }
}

// Requests for the same resource in other pools of the provider then wait as well.
void PoolWorker::publish_if_starved(const NodeRequest& request, const Decision& decision) {
  const ServiceKey key = request.service_key();
  const double waited = queue_.waited(key, now_of(context_.runtime.clock).steady);
  const bool is_starved = decision.shortage == Decision::Shortage::provider &&
                          waited >= RequestQueue::kStarvationThreshold;
  const std::string& resource = decision.reason.figures.resource;
  const auto published = starved_.find(key);
  if (is_starved && published != starved_.end() && published->second == resource) return;
  no_longer_starved(key);
  if (!is_starved) return;
  starved_.emplace(key, resource);
  context_.starved.add(identity_.provider, resource, identity_.id, key);
}

void PoolWorker::no_longer_starved(const ServiceKey& key) {
  const auto published = starved_.extract(key);
  if (published.empty()) return;
  context_.starved.remove(identity_.provider, published.mapped(), identity_.id, key);
}

void PoolWorker::choose_eviction(const NodeRequest& request, const Decision& decision,
                                 std::vector<std::string> plan) {
  if (idle_node_evictor_.is_busy()) return;
  const RequestQueue::Moment now = now_of(context_.runtime.clock);
  const auto pools = context_.records.components.pools();
  const planning::CapacityWanted wanted{
      .shortage = decision.shortage,
      .tenant = request.tenant_name.value_or(""),
      .plan = std::move(plan),
      .since = now.wall - queue_.waited(request.service_key(), now.steady),
      .may_be_served_elsewhere =
          planning::may_be_served_elsewhere(request, pools, context_.own_pools)};
  const planning::EvictionFacts facts{.now = now.wall,
                                      .pool = identity_,
                                      .pools = pools,
                                      .stock = stock_,
                                      .usage = context_.usage,
                                      .deletions = context_.deletions,
                                      .nodes = context_.records.nodes};
  idle_node_evictor_.carry_out(planning::choose_eviction(wanted, facts), [this, id = request.id] {
    const NodeRequest* waiting = context_.records.requests.find(id);
    return waiting != nullptr && waiting->state == RequestState::requested &&
           !context_.handled_requests.contains(id);
  });
}

void PoolWorker::accept(const NodeRequest& request, Verdict verdict) {
  in_progress_.insert(request.id);
  reserve(request, std::move(verdict.reservation));
  queue_.remove(request.service_key());
  scope_.spawn("request " + request.id, fulfil(request.id, std::move(verdict.bounds),
                                               context_.handled_requests.mark(request.id)));
}

void PoolWorker::reserve(const NodeRequest& request, planning::ReservationSpec reservation) {
  accepted_[request.id] = {
      provider_, std::make_unique<planning::Reservation>(
                     stock_, context_.usage, provider_.quota->launches(), identity_, request.id,
                     request.tenant_name.value_or(""), std::move(reservation))};
}

Task<> PoolWorker::fulfil(std::string request_id, planning::QuotaBounds bounds,
                          HandledRequests::Mark mark) {
  const Accepted& accepted = accepted_.at(request_id);
  NodeRequestHandler handler(context_, identity_, request_id);
  Task<Outcome> serving =
      handler.fulfil(accepted.provider, accepted.reservation->plan(), std::move(bounds));
  const Result result = co_await result_of(request_id, std::move(serving));
  drop_reservation(request_id);
  if (result == Result::too_large) {
    co_await decline(std::move(request_id), Reason{Reason::Code::too_large_for_transaction},
                     std::move(mark));
  } else {
    mark.release();
    co_await end(std::move(request_id), result);
  }
}

// Waits for a handler's work, and logs a failure.
Task<PoolWorker::Result> PoolWorker::result_of(std::string request_id, Task<Outcome> work) {
  try {
    switch (co_await std::move(work)) {
      case Outcome::done:
        co_return Result::done;
      case Outcome::try_again:
        co_return Result::try_again;
      case Outcome::locked:
        co_return Result::locked;
    }
  } catch (const async::Cancelled&) {
    throw;
  } catch (const std::exception& error) {
    const auto* refusal = dynamic_cast<const coordination::StoreError*>(&error);
    if (refusal != nullptr && refusal->kind() == coordination::StoreError::Kind::too_large) {
      co_return Result::too_large;
    }
    log_failure(context_.about(log_, request_id), "Could not serve the request", error);
  }
  co_return Result::failed;
}

// Reserved nodes that were not used become free without a change of a record.
void PoolWorker::drop_reservation(const std::string& request_id) {
  const auto accepted = accepted_.find(request_id);
  const std::vector<std::string> plan = accepted->second.reservation->plan();
  accepted_.erase(accepted);
  for (const std::string& id : plan) on_node(id);
}

Task<> PoolWorker::decline(std::string request_id, planning::Reason reason,
                           HandledRequests::Mark mark) {
  NodeRequestHandler handler(context_, identity_, request_id);
  Task<Outcome> declining = handler.decline(std::move(reason));
  const Result result = co_await result_of(request_id, std::move(declining));
  mark.release();
  if (result == Result::too_large) {
    in_progress_.erase(request_id);
    context_.about(log_, request_id)
        .error("Cannot serve or decline the request: its record is too large for the store");
    co_return;
  }
  co_await end(std::move(request_id), result);
}

// Evaluates the request again if it still waits. During a long pause, no event has it evaluated.
Task<> PoolWorker::end(std::string request_id, Result result) {
  async::Duration pause = pause_after(request_id, result);
  if (result == Result::try_again && pause > RetryPauses::kPause) {
    wake_.set();
    co_await context_.runtime.clock.sleep_for(std::exchange(pause, {}));
  }
  in_progress_.erase(request_id);
  queue_.launch_has_ended();  // handlers may count as launches
  wake_.set();
  co_await reevaluate_in(std::move(request_id), pause);
}

async::Duration PoolWorker::pause_after(const std::string& request_id, Result result) {
  switch (result) {
    case Result::try_again:
      return retries_.after_outdated(request_id, context_.runtime.clock.now());
    case Result::done:
      retries_.forget(request_id);
      return {};
    case Result::locked:
      return kLockedPause;
    case Result::too_large:
    case Result::failed:
      break;
  }
  return kFailurePause;
}

Task<> PoolWorker::reevaluate_in(std::string request_id, async::Duration pause) {
  if (pause > async::Duration::zero()) co_await context_.runtime.clock.sleep_for(pause);
  enqueue_again(request_id);
}

void PoolWorker::enqueue_again(const std::string& request_id) {
  const NodeRequest* request = context_.records.requests.find(request_id);
  if (request == nullptr || request->state != RequestState::requested) {
    if (request == nullptr || request->state != RequestState::pending) {
      retries_.forget(request_id);
    }
    if (request != nullptr) reevaluate_nodes_of(*request);
    return;
  }
  queue_.enqueue(request->service_key());
  wake_.set();
}

// --- interrupted launches

// Whether the launches of a pending request of this pool were interrupted and can be resumed: all
// its nodes are unlocked, and none is still `init`.
bool PoolWorker::is_stranded(const NodeRequest& request) const {
  if (request.state != RequestState::pending || in_progress_.contains(request.id)) return false;
  const model::IdSet& nodes = context_.records.nodes.allocated_to(request.id);
  if (nodes.size() != request.node_types.size()) return false;
  return std::ranges::all_of(nodes, [this](const std::string& id) {
    const Node& node = *context_.records.nodes.find(id);
    const bool has_started =
        node.state == model::NodeState::building || node.state == model::NodeState::ready;
    return has_started && is_own(node) && !context_.records.nodes.is_locked(id);
  });
}

void PoolWorker::reevaluate_nodes_of(const NodeRequest& request) {
  const model::IdSet& nodes = context_.records.nodes.allocated_to(request.id);
  if (!nodes.empty()) reevaluate_launch(*context_.records.nodes.find(*nodes.begin()));
}

void PoolWorker::reevaluate_launch(const Node& node) {
  if (provider_.provider->launching() == nullptr || !is_own(node)) return;
  const NodeRequest* request = context_.records.requests.find(*node.allocated_to);
  if (request == nullptr || !is_stranded(*request)) return;
  in_progress_.insert(request->id);
  scope_.spawn("request " + request->id, resume(request->id));
}

Task<> PoolWorker::resume(std::string request_id) {
  const auto peers = [this](const NodeRequest& request) {
    return planning::peers(request, registration_.component(), context_.records.components.pools());
  };
  const NodeRequest* known = context_.records.requests.find(request_id);
  const bool is_preferred =
      known == nullptr || planning::preferred(request_id, peers(*known)) == identity_.id;
  co_await context_.runtime.clock.sleep_for(is_preferred ? kResumePause : kPeerPause);
  in_progress_.erase(request_id);
  const NodeRequest* request = context_.records.requests.find(request_id);
  if (request == nullptr || !context_.records.ready() || !is_stranded(*request)) {
    if (request != nullptr) queue_.enqueue(request->service_key());  // it was skipped meanwhile
    wake_.set();
    co_return;
  }
  in_progress_.insert(request_id);
  context_.history.resumed(request_id, identity_.id);
  const auto is_unfinished = [this](const std::string& id) {
    return context_.records.nodes.find(id)->state != model::NodeState::ready;
  };
  reserve(*request, {.launches = std::ranges::count_if(
                         context_.records.nodes.allocated_to(request_id), is_unfinished)});
  NodeRequestHandler handler(context_, identity_, request_id);
  Task<Outcome> resuming = handler.resume(accepted_.at(request_id).provider);
  const Result result = co_await result_of(request_id, std::move(resuming));
  drop_reservation(request_id);
  if (result == Result::too_large) {
    context_.about(log_, request_id)
        .error("Cannot resume the request: the transaction is too large for the store");
  }
  co_await end(std::move(request_id), result);
}

// Whether the request is left to another launcher's worker of this pool for now.
bool PoolWorker::defers_to_peer(const NodeRequest& request) {
  const auto peers =
      planning::peers(request, registration_.component(), context_.records.components.pools());
  if (planning::preferred(request.id, peers) == identity_.id) {
    deferral_.forget(request.id);
    return false;
  }
  return deferral_.defers(request.id, kPeerPause);
}

planning::Facts PoolWorker::facts() {
  queue_.advance_to(now_of(context_.runtime.clock).steady);
  return {.own = registration_.component(),
          .pools = context_.records.components.pools(),
          .provider = provider_.provider->config(),
          .offer = provider_.provider->offer(),
          .quota = provider_.quota->facts(),
          .tenant_limits = context_.tenant_limits,
          .usage = context_.usage,
          .stock = stock_,
          .queue = queue_,
          .starved = context_.starved,
          .nodes = context_.records.nodes,
          .requests = context_.records.requests,
          .requests_in_progress = in_progress_.size(),
          .expected_pool = [this](const NodeRequest& request) {
            return context_.expected_pool(request);
          }};
}

}  // namespace nodepool::launcher
