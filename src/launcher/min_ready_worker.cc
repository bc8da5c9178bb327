#include "launcher/min_ready_worker.h"

#include <fmt/format.h>

#include "coordination/path.h"
#include "coordination/tree.h"
#include "model/change_node.h"
#include "model/paths.h"
#include "planning/decision.h"
#include "telemetry/log_errors.h"

namespace nodepool::launcher {

namespace {

using coordination::StoreError;
using coordination::Transaction;
using model::Node;
using model::NodeRequest;
using model::RequestState;

// Below all other requests.
constexpr std::string_view kPriority = "900-";

// The delay before counting, in milliseconds. The tables of nodes and requests are updated one
// after the other. The delay is random, so that one of several launchers requests a missing node
// first and the others see its request.
constexpr std::int64_t kMinDelay = 100;
constexpr std::int64_t kMaxDelay = 1000;

// Before the next attempt after the store failed.
constexpr auto kRetryPause = std::chrono::seconds(5);

// Between checks whether a label is available. New images cause an event, other changes in a cloud
// do not.
constexpr auto kOfferPause = std::chrono::seconds(60);

async::Duration consistency_delay(async::Random& random) {
  const auto spread = random.below(kMaxDelay - kMinDelay);
  return std::chrono::milliseconds(kMinDelay + static_cast<std::int64_t>(spread));
}

}  // namespace

MinReadyWorker::MinReadyWorker(const WorkerContext& context, const Providers& providers)
    : context_(context),
      providers_(providers),
      log_(context.log.child("MinReadyWorker")),
      scope_(context.runtime, telemetry::log_errors(log_)) {}

void MinReadyWorker::start() {
  for (const auto& [id, node] : context_.records.nodes.all()) on_node({id, nullptr, &node});
  for (const auto& [id, request] : context_.records.requests.all())
    on_request({id, nullptr, &request});
  subscriptions_.push_back(context_.records.nodes.observe(
      [this](const model::NodeTable::Change& change) { on_node(change); }));
  subscriptions_.push_back(context_.records.requests.observe(
      [this](const model::RequestTable::Change& change) { on_request(change); }));
  subscriptions_.push_back(context_.records.components.observe(
      [this](const model::ComponentTable::Change&) { reevaluate_all(); }));
  subscriptions_.push_back(
      context_.records.images.observe([this](const std::string& /*image*/) { reevaluate_all(); }));
  subscriptions_.push_back(context_.records.observe_ready([this] { reevaluate_all(); }));
  scope_.spawn("MinReadyWorker", run());
}

Task<> MinReadyWorker::stop() {
  subscriptions_.clear();
  co_await scope_.stop();
}

void MinReadyWorker::reconfigure(const std::map<std::string, config::Label>& labels) {
  for (auto& [name, stock] : stocks_) stock.wanted = 0;
  for (const auto& [name, label] : labels) {
    if (label.min_ready > 0) stocks_[name].wanted = label.min_ready;
  }
  reevaluate_all();
}

// --- events

void MinReadyWorker::on_node(const model::NodeTable::Change& change) {
  if (change.before != nullptr && planning::is_in_stock(*change.before)) {
    for (const std::string& label : change.before->type) {
      --stocks_[label].ready;
      reevaluate(label);
    }
  }
  if (change.after != nullptr && planning::is_in_stock(*change.after)) {
    for (const std::string& label : change.after->type) ++stocks_[label].ready;
  }
}

void MinReadyWorker::on_request(const model::RequestTable::Change& change) {
  if (change.before != nullptr && planning::is_for_min_ready(*change.before)) {
    const std::string& label = change.before->node_types.front();
    stocks_[label].requests.erase(change.id);
    if (change.after == nullptr && is_unanswered(*change.before)) back_off(label);
    reevaluate(label);
  }
  if (change.after == nullptr || !planning::is_for_min_ready(*change.after)) return;
  const NodeRequest& request = *change.after;
  const std::string& label = request.node_types.front();
  stocks_[label].requests.insert(change.id);
  if (request.stat.ephemeral_owner != context_.store.session_id()) return;
  if (request.state == RequestState::fulfilled || request.state == RequestState::failed) {
    scope_.spawn("min-ready request " + change.id, serve(change.id));
  }
}

void MinReadyWorker::reevaluate(const std::string& label) {
  if (stocks_[label].wanted == 0) return;
  due_.insert(label);
  wake_.set();
}

void MinReadyWorker::reevaluate_all() {
  for (const auto& [label, stock] : stocks_) reevaluate(label);
}

// --- requests

Task<> MinReadyWorker::run() {
  while (true) {
    if (unavailable_.empty()) {
      co_await wake_.wait();
    } else {
      co_await wake_.wait_until(context_.runtime.clock, offers_due_);
    }
    if (context_.runtime.clock.now() >= offers_due_) due_.merge(unavailable_);
    co_await context_.runtime.clock.sleep_for(consistency_delay(context_.runtime.random));
    if (!context_.records.ready()) continue;
    for (const std::string& label : std::exchange(due_, {})) co_await top_up(label);
  }
}

// Returns false for providers of other launchers, which are unknown here. Refreshes the quota, and
// with it the label problems, of own providers.
bool MinReadyWorker::has_problem(const model::Component& pool, const std::string& label) const {
  const auto served = providers_.find(pool.provider_name);
  if (served == providers_.end()) return false;
  const driver::Provider& provider = *served->second.provider;
  const auto config = provider.config().pools().find(pool.name);
  if (config == provider.config().pools().end() || !config->second.labels.contains(label) ||
      provider.offer()->label(pool.name, label).problem.empty()) {
    return false;
  }
  served->second.quota->available();
  return true;
}

Task<> MinReadyWorker::top_up(std::string label) {
  const Stock& stock = stocks_[label];
  const planning::MinReadyStock figures = stock.figures();
  const std::int64_t count = planning::missing_nodes(figures);
  if (count == 0 || stock.is_backing_off) co_return;
  const auto has_problem = [this, &label](const model::Component& pool) {
    return this->has_problem(pool, label);
  };
  if (!planning::is_obtainable(label, context_.records.components.pools(), has_problem)) {
    if (unavailable_.empty()) offers_due_ = context_.runtime.clock.now() + kOfferPause;
    unavailable_.insert(label);
    co_return;
  }
  log_.info("Requesting {} node(s) with label {}: {} ready, {} requested, min-ready is {}", count,
            label, figures.ready, figures.requested, figures.wanted);
  std::string failure;
  try {
    co_await request(label, count);
  } catch (const StoreError& error) {
    failure = error.what();
  }
  if (failure.empty()) co_return;
  log_.warning("Could not request nodes with label {}: {}", label, failure);
  co_await context_.runtime.clock.sleep_for(kRetryPause);
  reevaluate(label);
}

Task<> MinReadyWorker::request(std::string label, std::int64_t count) {
  NodeRequest request;
  request.set_state(RequestState::requested, context_.runtime.clock.wall_seconds());
  request.created_time = request.state_time;
  request.node_types = {label};
  request.requestor = planning::kMinReadyRequestor;
  request.reuse = false;
  std::vector<NodeRequest> requests(static_cast<std::size_t>(count), request);
  Transaction transaction;
  for (NodeRequest& each : requests) {
    each.event_id = context_.runtime.random.uuid_hex();
    transaction.create(model::request_path(kPriority), to_record(each),
                       coordination::CreateMode::ephemeral_sequential);
  }
  const auto results =
      co_await coordination::commit_with_parents(context_.store, std::move(transaction));
  for (std::size_t i = 0; i < requests.size(); ++i) {
    requests[i].id = coordination::base_name(results[i].path);
    context_.records.requests.written(std::move(requests[i]), results[i].stat);
  }
}

// --- results

// Retries until the request is removed.
Task<> MinReadyWorker::serve(std::string request_id) {
  while (const NodeRequest* request = context_.records.requests.find(request_id)) {
    std::string failure;
    try {
      if (request->state == RequestState::fulfilled) {
        co_await take_over(*request);
      } else {
        co_await give_up(request_id, request->node_types.front());
      }
    } catch (const StoreError& error) {
      failure = error.what();
    }
    if (failure.empty()) co_return;
    context_.about(log_, request_id).debug("Retrying: {}", failure);
    co_await context_.runtime.clock.sleep_for(kRetryPause);
  }
}

Task<> MinReadyWorker::take_over(NodeRequest request) {
  stocks_[request.node_types.front()].backoff.reset();
  try {
    if (request.nodes.size() == 1 && co_await free_node(request)) co_return;
  } catch (const model::RecordError& error) {
    context_.about(log_, request.id).warning("Could not free the node: {}", error.what());
  }
  // Its node has changed or is gone, and is freed once the request is removed.
  co_await remove(request.id);
}

// Frees the node and removes the request in one transaction, so that counts stay right. Returns
// whether it succeeded.
Task<bool> MinReadyWorker::free_node(NodeRequest request) {
  const auto free = [&request](Node& node) {
    if (node.allocated_to != request.id) return false;
    node.allocated_to.reset();
    return true;
  };
  Transaction removal;
  removal.remove(model::request_path(request.id));
  Task<model::NodeChange> changing =
      model::change_node(context_.runtime, context_.store, context_.records.nodes,
                         request.nodes.front(), free, std::move(removal));
  if (co_await std::move(changing) != model::NodeChange::written) co_return false;
  context_.records.requests.removed(request.id);
  co_return true;
}

Task<> MinReadyWorker::give_up(std::string request_id, std::string label) {
  back_off(label);
  co_await remove(std::move(request_id));
}

// Whether it is a request of this session without an answer. Only others remove such a request;
// its nodes are launched all the same.
bool MinReadyWorker::is_unanswered(const NodeRequest& request) const {
  return request.stat.ephemeral_owner == context_.store.session_id() &&
         (request.state == RequestState::requested || request.state == RequestState::pending);
}

void MinReadyWorker::back_off(const std::string& label) {
  Stock& stock = stocks_[label];
  if (std::exchange(stock.is_backing_off, true)) return;
  scope_.spawn("min-ready " + label, try_again_later(label, stock.backoff.failed()));
}

Task<> MinReadyWorker::try_again_later(std::string label, async::Duration pause) {
  co_await context_.runtime.clock.sleep_for(pause);
  stocks_[label].is_backing_off = false;
  reevaluate(label);
}

Task<> MinReadyWorker::remove(std::string request_id) {
  try {
    co_await context_.store.remove(model::request_path(request_id), coordination::kAnyVersion);
  } catch (const StoreError& error) {
    if (error.kind() != StoreError::Kind::no_node) throw;
  }
  context_.records.requests.removed(request_id);
}

}  // namespace nodepool::launcher
