#include "launcher/deleted_node_worker.h"

#include <algorithm>

#include "coordination/path.h"
#include "coordination/with_lock.h"
#include "driver/cloud_error.h"
#include "driver/launch_metrics.h"
#include "launcher/trouble.h"
#include "lifecycle/reclaim.h"
#include "model/change_node.h"
#include "model/lease.h"
#include "model/paths.h"
#include "planning/decision.h"
#include "telemetry/log_errors.h"

namespace nodepool::launcher {

namespace {

using coordination::StoreError;
using model::Node;
using model::NodeState;

// Before the next attempt after the store failed, and after the first failure of a provider. The
// interval of the Python Nodepool's delete worker.
constexpr auto kReturnRetryPause = std::chrono::seconds(5);

// Machines that cannot be deleted must not take the rate limit from others.
constexpr async::Duration kLongestReturnRetryPause = std::chrono::minutes(1);

// The same after a refusal that lasts until the configuration or the cloud is changed.
constexpr async::Duration kLongestReturnRefusalPause = std::chrono::minutes(10);

// How often a failure that lasts is reported, and at most one whose reason has changed: some clouds
// word it differently each time, for example with a code for each refusal.
constexpr auto kReturnReportPause = std::chrono::hours(1);
constexpr auto kReturnChangePause = std::chrono::minutes(10);

// Whether a user or requestor has released the node anew. Attempts write the journal only.
bool is_released_anew(const model::NodeTable::Change& change) {
  return change.before != nullptr && (change.before->state != change.after->state ||
                                      change.before->state_time != change.after->state_time);
}

async::Duration longest_pause_after(const std::exception& error) {
  const auto* of_cloud = dynamic_cast<const driver::CloudError*>(&error);
  const bool is_refusal =
      of_cloud != nullptr && of_cloud->kind() == driver::CloudError::Kind::permanent;
  return is_refusal ? kLongestReturnRefusalPause : kLongestReturnRetryPause;
}

// Returns `now` if the record does not have the time, for example because the requestor died.
double released_at(const Node& node, double now) {
  const bool is_recorded = node.state == NodeState::used || node.state == NodeState::deleting;
  return is_recorded ? node.state_time : now;
}

}  // namespace

DeletedNodeWorker::DeletedNodeWorker(const WorkerContext& context, HistoryRecorder& history,
                                     const Providers& providers,
                                     const std::set<std::string>& own_pools)
    : context_(context),
      history_(history),
      providers_(providers),
      own_pools_(own_pools),
      log_(context.log.child("DeletedNodeWorker")),
      deferral_(context.runtime, scope_, "node", [this](const std::string& id) { reevaluate(id); }),
      scope_(context.runtime, telemetry::log_errors(log_)) {}

void DeletedNodeWorker::start() {
  subscriptions_.push_back(
      context_.records.nodes.observe([this](const model::NodeTable::Change& change) {
        retries_.forget(change.id);  // the table has caught up
        if (change.after == nullptr || is_released_anew(change)) failures_.erase(change.id);
        reevaluate(change.id);
      }));
  subscriptions_.push_back(
      context_.records.nodes.observe_locks([this](const std::string& id) { reevaluate(id); }));
  subscriptions_.push_back(
      context_.records.requests.observe([this](const model::RequestTable::Change& change) {
        if (change.after != nullptr && change.after->state == model::RequestState::pending) return;
        for (const std::string& id : context_.records.nodes.allocated_to(change.id)) reevaluate(id);
      }));
  const auto reevaluate_all = [this] {
    for (const auto& [id, node] : context_.records.nodes.all()) reevaluate(id);
  };
  subscriptions_.push_back(context_.records.observe_ready(reevaluate_all));
  reevaluate_all();
}

void DeletedNodeWorker::reevaluate_provider(const std::string& provider) {
  for (const std::string& id : context_.records.nodes.of_provider(provider)) {
    failures_.erase(id);
    reevaluate(id);
  }
}

Task<> DeletedNodeWorker::stop() {
  subscriptions_.clear();
  co_await scope_.stop();
}

DeletedNodeWorker::Duty DeletedNodeWorker::duty(const Node& node) const {
  if (!context_.records.ready()) return Duty::none;
  if (!node.provider || !providers_.contains(*node.provider)) return Duty::none;
  if (is_resumable(node)) return Duty::none;
  if (model::is_reclaimable(node.state)) return Duty::reclaim;
  if (node.state != NodeState::ready || !node.allocated_to) return Duty::none;
  const model::NodeRequest* request = context_.records.requests.find(*node.allocated_to);
  const bool is_over = request == nullptr || request->state == model::RequestState::failed;
  return is_over ? Duty::free : Duty::none;
}

void DeletedNodeWorker::reevaluate(const std::string& id) {
  const Node* node = context_.records.nodes.find(id);
  if (node == nullptr || context_.records.nodes.is_locked(id) || duty(*node) == Duty::none) {
    deferral_.forget(id);
    return;
  }
  if (in_progress_.contains(id) || backs_off(id) || defers_to_peer(*node)) return;
  in_progress_.insert(id);
  scope_.spawn("reclaim node " + id, process(id));
}

bool DeletedNodeWorker::backs_off(const std::string& id) const {
  const auto failure = failures_.find(id);
  return failure != failures_.end() && context_.runtime.clock.now() < failure->second.retry_at;
}

// Whether a pool worker may resume the launch. CleanupWorker knows how long it has time to, and
// then resets the request.
bool DeletedNodeWorker::is_resumable(const Node& node) const {
  if (node.state != NodeState::building || !node.allocated_to || !node.provider) return false;
  const model::NodeRequest* request = context_.records.requests.find(*node.allocated_to);
  return request != nullptr && request->state == model::RequestState::pending &&
         providers_.at(*node.provider).provider->launching() != nullptr;
}

// Whether another launcher of the pool is preferred for the node.
bool DeletedNodeWorker::falls_to_peer(const Node& node) const {
  std::vector<const model::Component*> peers = context_.records.components.pools();
  std::erase_if(peers, [&node](const model::Component* pool) {
    return pool->provider_name != node.provider || pool->name != node.pool;
  });
  return !peers.empty() && !own_pools_.contains(planning::preferred(node.id, peers));
}

// Whether the node is left to another launcher for now.
bool DeletedNodeWorker::defers_to_peer(const Node& node) {
  if (!falls_to_peer(node)) {
    deferral_.forget(node.id);
    return false;
  }
  return deferral_.defers(node.id, kPeerPause);
}

Task<> DeletedNodeWorker::process(std::string id) {
  bool has_failed = false;
  bool up_to_date = true;
  try {
    const Node* node = context_.records.nodes.find(id);
    const Duty due = node == nullptr ? Duty::none : duty(*node);
    if (due == Duty::free) up_to_date = co_await free(id);
    if (due == Duty::reclaim) up_to_date = co_await reclaim_under_lock(id);
  } catch (const async::Cancelled&) {
    throw;
  } catch (const std::exception& error) {
    note_failure(id, error);
    has_failed = true;
  }
  async::Clock& clock = context_.runtime.clock;
  if (backs_off(id)) {
    in_progress_.erase(id);  // a new release ends the pause
    co_await clock.sleep_until(failures_.at(id).retry_at);
    co_return reevaluate(id);
  }
  if (has_failed) {
    co_await context_.records.pause_before_retry(kReturnRetryPause);
  } else if (up_to_date) {
    retries_.forget(id);
  } else {
    co_await clock.sleep_for(retries_.after_outdated(id, clock.now()));
    if (context_.records.nodes.find(id) == nullptr) retries_.forget(id);
  }
  in_progress_.erase(id);
  reevaluate(id);  // may be due again
}

// The first failure of a provider is logged as an error and recorded in the history, others at
// intervals. The store's failures say nothing about the machine.
void DeletedNodeWorker::note_failure(const std::string& id, const std::exception& error) {
  constexpr std::string_view kWhat = "Could not reclaim the node, retrying";
  const Node* node = context_.records.nodes.find(id);
  const auto log = node == nullptr ? log_.about({}, {}, id) : context_.about(log_, *node);
  if (node == nullptr || dynamic_cast<const StoreError*>(&error) != nullptr) {
    return log_failure(log, kWhat, error);
  }
  const Failure none{.pauses = {kReturnRetryPause, kLongestReturnRefusalPause}};
  Failure& failure = failures_.try_emplace(id, none).first->second;
  const auto now = context_.runtime.clock.now();
  failure.retry_at = now + std::min(failure.pauses.failed(), longest_pause_after(error));
  const auto pause = failure.reported == error.what() ? kReturnReportPause : kReturnChangePause;
  if (failure.reported_at && now < *failure.reported_at + pause) {
    return log.debug("{}: {}", kWhat, error.what());
  }
  failure.reported_at = now;
  failure.reported = error.what();
  history_.reclaim_failed(id, error.what());
  log.error("{}: {}", kWhat, error.what());
}

Task<bool> DeletedNodeWorker::free(std::string id) {
  const std::string request_id = *context_.records.nodes.find(id)->allocated_to;
  // The table of requests may be stale. A deleted or failed request never comes back.
  const bool is_failed = context_.records.requests.find(request_id) != nullptr;
  if (!is_failed && co_await context_.store.exists(model::request_path(request_id))) {
    co_return false;
  }
  const auto change = [this, &request_id](Node& node) {
    if (duty(node) != Duty::free || node.allocated_to != request_id) return false;
    node.allocated_to.reset();
    return true;
  };
  Task<model::NodeChange> changing =
      model::change_node(context_.runtime, context_.store, context_.records.nodes, id, change);
  if (co_await std::move(changing) != model::NodeChange::written) co_return false;
  log_.about({}, request_id, id).info("Deallocated the node, its request is gone or has failed");
  co_return true;
}

Task<bool> DeletedNodeWorker::reclaim_under_lock(std::string id) {
  coordination::Lock lock(context_.store, context_.runtime.random, model::node_lock_path(id));
  Task<bool> taking = reclaim_if_due(std::move(id), lock);
  co_return co_await coordination::with_lock(lock, std::move(taking));
}

// If the lease cannot be read, the node is left as it is.
Task<bool> DeletedNodeWorker::reclaim_if_due(std::string id, coordination::Lock& lock) {
  std::optional<Node> node;
  try {
    if (co_await lock.try_acquire()) node = co_await model::read_node(context_.store, id);
    if (node && co_await is_leased(*node, lock)) node.reset();
  } catch (const StoreError& error) {
    if (error.kind() != StoreError::Kind::no_node) throw;
    context_.records.nodes.removed(id);  // by another process
    node.reset();
  }
  if (!node || duty(*node) != Duty::reclaim) co_return false;
  co_await reclaim(*std::move(node), lock);
  co_return true;
}

// A requestor that turns its lock into a lease moves to the end of the queue. The next contender
// then has the lock, but the node still belongs to the lease. Throws StoreError.
Task<bool> DeletedNodeWorker::is_leased(const Node& node, const coordination::Lock& lock) {
  const std::optional<model::Lease> lease = model::lease_of(node);
  const double now = context_.runtime.clock.wall_seconds();
  if (!lease || node.state != NodeState::in_use || lease->expires <= now) co_return false;
  const std::vector<std::string> children = co_await context_.store.children(lock.root());
  for (const std::string& name : coordination::sorted_contenders(children)) {
    const std::string path = coordination::join_path(lock.root(), name);
    if (path == lock.contender()) continue;
    if (co_await model::is_contender_of_lease(context_.store, path, lease->id)) co_return true;
  }
  co_return false;
}

Task<> DeletedNodeWorker::reclaim(Node node, coordination::Lock& lock) {
  const auto log = context_.about(log_, node);
  const std::shared_ptr<driver::Provider> provider = providers_.at(*node.provider).provider;
  log.info("Reclaiming node in state {} ({})", to_string(node.state),
           node.hostname.value_or(node.external_id_text()));
  const double released = released_at(node, context_.runtime.clock.wall_seconds());
  const std::string id = node.id;
  const std::string name = node.hostname.value_or(id);
  Task<std::optional<Node>> reclaiming =
      lifecycle::reclaim(context_.node_writer(), *provider, std::move(node), lock, released);
  const std::optional<Node> replacement = co_await std::move(reclaiming);
  if (replacement) {
    log.info("{} is ready again as node {}", name, replacement->id);
    co_return;
  }
  log.info("Deleted node");
  driver::report_deletion(context_.metrics, provider->config().name(), "gone",
                          context_.runtime.clock.wall_seconds() - released);
}

}  // namespace nodepool::launcher
