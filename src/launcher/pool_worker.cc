#include "launcher/pool_worker.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>

#include "launcher/matching.h"
#include "telemetry/version.h"

namespace nodepool::launcher {

namespace {

using model::Node;
using model::NodeRequest;
using model::RequestState;

// Before looking again at a request that somebody else has locked: its lock gives no event, and
// whoever has it (a requestor that changes the priority, another launcher) is quick.
constexpr auto kLockedPause = std::chrono::milliseconds(250);

// Before looking again at a request when the store has refused twice what was decided: the tables
// are behind, and the same decision would be refused again until they have caught up.
constexpr auto kOutdatedPause = std::chrono::milliseconds(10);

// Before looking again at a request after the store has failed.
constexpr auto kFailurePause = std::chrono::seconds(1);

}  // namespace

PoolWorker::PoolWorker(LauncherContext& context, std::shared_ptr<driver::Provider> provider,
                       std::string pool)
    : context_(context),
      provider_(std::move(provider)),
      pool_(std::move(pool)),
      provider_name_(provider_->config().name()),
      id_(fmt::format("{}-PoolWorker.{}-{}-{}", context.fqdn, provider_name_, pool_,
                      context.runtime.random.uuid_hex())),
      log_(context.log.child(fmt::format("PoolWorker.{}-{}", provider_name_, pool_))),
      registration_(context.runtime, context.store, log_, component()),
      scope_(context.runtime, context.report_to(log_)) {}

Task<> PoolWorker::start() {
  co_await registration_.start();
}

bool PoolWorker::is_registered() const {
  return std::ranges::any_of(context_.components.pools(),
                             [this](const model::Component* pool) { return pool->id == id_; });
}

void PoolWorker::serve() {
  observe();
  scope_.spawn("PoolWorker " + provider_name_ + "-" + pool_, run());
}

void PoolWorker::reconfigure(std::shared_ptr<driver::Provider> provider) {
  provider_ = std::move(provider);
  registration_.update(component());
  look_at_everything();
}

Task<> PoolWorker::stop() {
  subscriptions_.clear();
  co_await scope_.stop();
  co_await registration_.stop();
}

const driver::PoolConfig& PoolWorker::pool_config() const {
  return provider_->config().pools().at(pool_);
}

model::Component PoolWorker::component() const {
  const driver::PoolConfig& pool = pool_config();
  model::Component component;
  component.kind = model::Component::Kind::pool;
  component.hostname = context_.hostname;
  component.state = "running";
  component.version = telemetry::version();
  component.id = id_;
  component.name = pool_;
  component.provider_name = provider_name_;
  component.supported_labels.assign(pool.labels.begin(), pool.labels.end());
  component.priority = pool.priority;
  return component;
}

PoolView PoolWorker::view(const NodeRequest& request) const {
  PoolView view;
  view.id = id_;
  view.provider = provider_name_;
  view.max_servers = pool_config().max_servers;
  view.max_concurrency = provider_->config().max_concurrency();
  view.active_launches = static_cast<std::int64_t>(in_hand_.size());
  view.has_all_at_once = has_all_at_once(request.node_types);
  view.component = &registration_.component();
  return view;
}

// --- events
// ---------------------------------------------------------------------------------------

void PoolWorker::observe() {
  subscriptions_.push_back(context_.requests.observe(
      [this](const model::RequestTable::Change& change) { on_request(change); }));
  subscriptions_.push_back(context_.nodes.observe(
      [this](const model::NodeTable::Change& change) { on_node(change.id); }));
  subscriptions_.push_back(
      context_.nodes.observe_locks([this](const std::string& id) { on_node(id); }));
  subscriptions_.push_back(
      context_.components.observe([this](const model::ComponentTable::Change&) { on_registry(); }));
  const auto on_readiness = [this](bool ready) {
    if (ready) look_at_everything();
  };
  subscriptions_.push_back(context_.requests.observe_readiness(on_readiness));
  subscriptions_.push_back(context_.nodes.observe_readiness(on_readiness));
  subscriptions_.push_back(context_.components.observe_readiness(on_readiness));
  look_at_everything();
}

void PoolWorker::look_at_everything() {
  for (const auto& [order, id] : context_.requests.waiting()) line_.look_at(order);
  wake_.set();
}

void PoolWorker::on_request(const model::RequestTable::Change& change) {
  if (change.before != nullptr) line_.remove(change.before->order());
  if (change.after == nullptr || change.after->state != RequestState::requested) return;
  line_.look_at(change.after->order());
  wake_.set();
}

bool PoolWorker::is_own(const Node& node) const {
  return node.provider == provider_name_ && node.pool == pool_;
}

void PoolWorker::on_node(const std::string& id) {
  const Node* node = context_.nodes.find(id);
  if (node == nullptr || !is_own(*node) || !context_.nodes.is_free(*node)) return;
  freed_labels_.insert(node->type.begin(), node->type.end());
  wake_.set();
}

void PoolWorker::on_registry() {
  line_.wake_waiting_for_registry();
  wake_.set();
}

// --- decisions
// ------------------------------------------------------------------------------------

Task<> PoolWorker::run() {
  while (true) {
    co_await wake_.wait();
    if (context_.tables_ready()) decide_all();
  }
}

void PoolWorker::decide_all() {
  while (const std::optional<Order> order = line_.next()) consider(*order);
  for (const std::string& label : std::exchange(freed_labels_, {})) serve_waiting_for(label);
}

void PoolWorker::serve_waiting_for(const std::string& label) {
  std::optional<Order> order = line_.first_waiting_for(label);
  while (order && supply(label).free > 0) {
    std::optional<Order> next = line_.next_waiting_for(label, *order);
    line_.remove(*order);
    consider(*order);
    order = std::move(next);
  }
}

void PoolWorker::consider(const Order& order) {
  const auto waiting = context_.requests.waiting().find(order);
  if (waiting == context_.requests.waiting().end()) return;
  const NodeRequest* request = context_.requests.find(waiting->second);
  if (request == nullptr || in_hand_.contains(request->id)) return;
  const Decision decision = decide(*request, view(*request), context_.components.pools(),
                                   [this](std::string_view label) { return supply(label); });
  carry_out(order, *request, decision);
}

void PoolWorker::carry_out(const Order& order, const NodeRequest& request, Decision decision) {
  const auto log = log_.about(request.event_id.value_or(""), request.id);
  std::vector<std::string> node_ids;
  if (decision.kind == Decision::Kind::accept) {
    auto chosen = choose_nodes(request);
    if (chosen) {
      node_ids = std::move(*chosen);
    } else {
      decision = {Decision::Kind::wait, Decision::Until::label_is_available,
                  request.node_types.front(), "the free nodes cannot carry all labels at once",
                  request.node_types};
    }
  }
  switch (decision.kind) {
    case Decision::Kind::ignore:
      return;
    case Decision::Kind::wait:
      log.debug("Waiting: {}", decision.reason);
      line_.wait(order, decision);
      return;
    case Decision::Kind::accept:
    case Decision::Kind::decline:
    case Decision::Kind::fail:
      break;
  }
  if (decision.kind == Decision::Kind::accept) log.info("Assigning node request");
  reserved_nodes_.insert(node_ids.begin(), node_ids.end());
  in_hand_.insert(request.id);
  scope_.spawn("request " + request.id,
               handle(request.id, std::move(decision), std::move(node_ids)));
}

Task<> PoolWorker::handle(std::string request_id, Decision decision,
                          std::vector<std::string> node_ids) {
  const std::shared_ptr<driver::Provider> provider = provider_;  // a reload may replace it
  NodeRequestHandler handler(context_, id_, request_id);
  auto outcome = NodeRequestHandler::Outcome::done;
  std::string failure;
  bool cancelled = false;
  try {
    if (decision.kind == Decision::Kind::accept) {
      outcome = co_await handler.fulfil(*provider, node_ids);
    } else {
      outcome = co_await handler.decline(std::move(decision.reason));
    }
  } catch (const async::Cancelled&) {
    cancelled = true;
  } catch (const std::exception& error) {
    failure = error.what();
  }
  give_back(node_ids);
  in_hand_.erase(request_id);
  if (cancelled) co_return;
  line_.wake_waiting_for_launch_slot();
  wake_.set();
  if (!failure.empty()) {
    log_.about({}, request_id).error("Could not serve the request: {}", failure);
    co_await context_.runtime.clock.sleep_for(kFailurePause);
  } else if (outcome == NodeRequestHandler::Outcome::locked) {
    co_await context_.runtime.clock.sleep_for(kLockedPause);
  } else if (outcome == NodeRequestHandler::Outcome::done) {
    refused_.erase(request_id);
  } else if (!refused_.insert(request_id).second) {
    co_await context_.runtime.clock.sleep_for(kOutdatedPause);
  }
  // If the request still waits, whatever came of this, it is to be looked at again.
  const NodeRequest* request = context_.requests.find(request_id);
  if (request == nullptr || request->state != RequestState::requested) {
    refused_.erase(request_id);
    co_return;
  }
  line_.look_at(request->order());
  wake_.set();
}

// Nodes that were reserved and not handed out are free again, though their records have not
// changed.
void PoolWorker::give_back(const std::vector<std::string>& node_ids) {
  for (const std::string& id : node_ids) {
    reserved_nodes_.erase(id);
    on_node(id);
  }
}

// --- nodes
// ----------------------------------------------------------------------------------------

LabelSupply PoolWorker::supply(std::string_view label) const {
  const model::IdSet& free = context_.nodes.free(provider_name_, pool_, label);
  const auto reserved = std::ranges::count_if(
      reserved_nodes_, [&free](const std::string& id) { return free.contains(id); });
  return {static_cast<std::int64_t>(free.size()) - reserved, provider_->capacity(pool_, label)};
}

// A node with several labels is counted by the capacity of each of them, but serves only one. For
// a single label the capacity says it all.
bool PoolWorker::has_all_at_once(const std::vector<std::string>& labels) const {
  const driver::Inventory& inventory = provider_->inventory(pool_);
  if (inventory.empty() ||
      std::ranges::adjacent_find(labels, std::ranges::not_equal_to()) == labels.end()) {
    return true;
  }
  std::vector<std::vector<std::string>> candidates(labels.size());
  for (std::size_t i = 0; i < labels.size(); ++i) {
    for (std::size_t node = 0; node < inventory.size(); ++node) {
      // The others take one less than that at most.
      if (candidates[i].size() == labels.size()) break;
      if (std::ranges::find(inventory[node], labels[i]) == inventory[node].end()) continue;
      candidates[i].push_back(std::to_string(node));
    }
  }
  return match(candidates).has_value();
}

// A node for each of the request's labels, or nothing if the free ones do not go round: a node with
// several labels counts for each of them, but serves only one.
std::optional<std::vector<std::string>> PoolWorker::choose_nodes(const NodeRequest& request) const {
  const std::size_t count = request.node_types.size();
  std::vector<std::vector<std::string>> candidates(count);
  for (std::size_t i = 0; i < count; ++i) {
    for (const std::string& id :
         context_.nodes.free(provider_name_, pool_, request.node_types[i])) {
      // The others take one less than `count` at most, so more candidates than that are no use.
      if (candidates[i].size() == count) break;
      if (!reserved_nodes_.contains(id)) candidates[i].push_back(id);
    }
  }
  return match(candidates);
}

}  // namespace nodepool::launcher
