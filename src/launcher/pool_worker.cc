#include "launcher/pool_worker.h"

#include <fmt/format.h>

#include <algorithm>

#include <boost/asio/post.hpp>
#include <boost/asio/use_awaitable.hpp>

#include "telemetry/log_errors.h"
#include "telemetry/version.h"

namespace nodepool::launcher {

namespace {

using model::Node;
using model::NodeRequest;
using model::RequestState;

// At most, in one turn of the loop: it also serves the store's session and the handlers.
constexpr int kDecisionsPerTurn = 100;

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
      requests_(context, identity_, stock_, log_, scope_,
                {.handler_ended = [this] { handler_has_ended(); },
                 .evaluate = [this](const std::string& id) { evaluate_again(id); },
                 .no_longer_reserved = [this](const std::string& id) { on_node(id); }}),
      interrupted_launches_(context, identity_, provider_, requests_, scope_,
                            [this](const NodeRequest& request) { return is_preferred(request); }),
      deferral_(context.runtime, scope_, "request",
                [this](const std::string& id) { evaluate_again(id); }),
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
  requests_.drop_reservations();
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
  component.paused = is_paused();
  return component;
}

// A pool that does not launch nodes never pauses: its requests wait for it.
bool PoolWorker::is_paused() const {
  return provider_.provider->offer()->launches && queue_.is_short_of_capacity();
}

// Most decisions do not change it, and a component has many labels.
void PoolWorker::publish_whether_paused() {
  if (is_paused() != registration_.component().paused) registration_.update(component());
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
    queue_.refusal_has_ended();
    queue_.provider_has_answered();
    queue_.capacity_has_grown();
    wake_.set();
  });
}

void PoolWorker::enqueue_all() {
  for (const auto& [key, id] : context_.records.requests.waiting()) queue_.enqueue(key);
  for (const std::string& id : context_.records.requests.pending()) {
    interrupted_launches_.evaluate(*context_.records.requests.find(id));
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
    if (!is_pending) requests_.forget_pauses(change.id);
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
  if (node != nullptr) interrupted_launches_.evaluate(*node);
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
    for (int decided = 0; decided < kDecisionsPerTurn; ++decided) {
      const std::optional<ServiceKey> key = queue_.next();
      if (!key) break;
      consider(*key);
    }
    const bool is_done = !queue_.has_next();
    // Until then, one of the others may wait for capacity.
    if (is_done || queue_.is_short_of_capacity()) publish_whether_paused();
    if (is_done) continue;
    wake_.set();
    co_await boost::asio::post(boost::asio::use_awaitable);
  }
}

void PoolWorker::consider(const ServiceKey& key) {
  const auto waiting = context_.records.requests.waiting().find(key);
  if (waiting == context_.records.requests.waiting().end()) return;
  const NodeRequest* request = context_.records.requests.find(waiting->second);
  if (request == nullptr || requests_.contains(request->id)) return;
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
      queue_.remove(key);
      requests_.fulfil(request, provider_, std::move(verdict));
      return;
    case Decision::Kind::decline:
    case Decision::Kind::fail:
      queue_.remove(key);
      requests_.decline(request, decision.reason);
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

// --- after a handler, or a deferral

void PoolWorker::handler_has_ended() {
  queue_.launch_has_ended();  // handlers may count as launches
  wake_.set();
}

void PoolWorker::evaluate_again(const std::string& request_id) {
  const NodeRequest* request = context_.records.requests.find(request_id);
  if (request != nullptr && request->state == RequestState::requested) {
    queue_.enqueue(request->service_key());
    wake_.set();
    return;
  }
  const bool is_pending = request != nullptr && request->state == RequestState::pending;
  if (is_pending) {
    interrupted_launches_.evaluate(*request);
  } else {
    requests_.forget_pauses(request_id);
  }
}

// Whether this is the first of the launchers' workers of this pool to serve the request.
bool PoolWorker::is_preferred(const NodeRequest& request) const {
  const auto peers =
      planning::peers(request, registration_.component(), context_.records.components.pools());
  return planning::preferred(request.id, peers) == identity_.id;
}

// Whether the request is left to another launcher's worker of this pool for now.
bool PoolWorker::defers_to_peer(const NodeRequest& request) {
  if (is_preferred(request)) {
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
          .requests_in_progress = requests_.size(),
          .expected_pool = [this](const NodeRequest& request) {
            return context_.expected_pool(request);
          }};
}

}  // namespace nodepool::launcher
