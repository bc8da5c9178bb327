#include "launcher/node_request_handler.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <chrono>
#include <exception>
#include <ranges>
#include <set>

#include "async/finally.h"
#include "async/task_scope.h"
#include "coordination/tree.h"
#include "coordination/with_lock.h"
#include "launcher/launcher_metrics.h"
#include "launcher/request_wait.h"
#include "launcher/terminated_machine_detector.h"
#include "lifecycle/node_writer.h"
#include "model/failure_text.h"
#include "model/paths.h"
#include "planning/decision.h"
#include "planning/matching.h"
#include "telemetry/log_errors.h"

namespace nodepool::launcher {

namespace {

using coordination::LockSet;
using coordination::StoreError;
using coordination::TransactionError;
using model::Node;
using model::NodeRequest;
using model::NodeState;
using model::RecordBatch;
using model::RequestState;
using planning::Reason;
using Outcome = NodeRequestHandler::Outcome;

// Throws the error again if a retry would not help, for example because a record is too large.
void rethrow_argument_error(const TransactionError& error) {
  if (error.is_argument_error()) throw TransactionError(error);
}

}  // namespace

NodeRequestHandler::NodeRequestHandler(const ServingContext& context, PoolIdentity pool,
                                       std::string request_id)
    : context_(context),
      pool_(std::move(pool)),
      request_id_(std::move(request_id)),
      log_(context.log.child(fmt::format("NodeRequestHandler.{}-{}", pool_.provider, pool_.name))),
      locks_(context.store, context.runtime.random) {
  if (const NodeRequest* request = context_.records.requests.find(request_id_)) {
    log_ = log_.about(request->event_id.value_or(""), request_id_);
  }
  request_lock_ = locks_.add(model::request_lock_path(request_id_), /*root_exists=*/false);
}

Task<Outcome> NodeRequestHandler::fulfil(ProviderInService provider, std::vector<std::string> plan,
                                         QuotaBounds bounds) {
  for (std::string& id : plan) {
    RequestedNode wanted{std::move(id), 0};
    if (!wanted.node_id.empty()) {
      wanted.lock = locks_.add(model::node_lock_path(wanted.node_id),
                               context_.records.nodes.has_lock_root(wanted.node_id));
    }
    requested_.push_back(std::move(wanted));
  }
  const LockSet::Outcome taken = co_await take_locks();
  if (taken.kind != LockSet::Outcome::Kind::acquired) {
    co_return taken.index == request_lock_ ? Outcome::locked : Outcome::try_again;
  }
  Task<Outcome> serving = serve(std::move(provider), std::move(bounds));
  co_return co_await under_locks(std::move(serving));
}

// Requires the locks of the request and its existing nodes.
Task<Outcome> NodeRequestHandler::serve(ProviderInService provider, QuotaBounds bounds) {
  if (!co_await all_usable(*provider.provider)) co_return Outcome::try_again;
  const auto is_new = [](const RequestedNode& wanted) { return wanted.node_id.empty(); };
  if (std::ranges::none_of(requested_, is_new)) co_return co_await hand_out();
  NodeLaunches launches(context_, provider, pool_, locks_, log_);
  const bool begun = co_await begin(*provider.provider, launches, std::move(bounds));
  if (!begun) co_return Outcome::try_again;
  co_return co_await finish(launches);
}

// Runs the work, and releases the locks. If the request is `pending` then, rolls it back before.
Task<Outcome> NodeRequestHandler::under_locks(Task<Outcome> work) {
  const auto roll_back = [this] { return rollback_if_pending(); };
  Task<Outcome> working = async::finally(std::move(work), roll_back);
  co_return co_await coordination::with_lock(locks_, std::move(working));
}

// Creates the root of all requests' locks again if it was removed.
Task<LockSet::Outcome> NodeRequestHandler::take_locks() {
  LockSet::Outcome taken = co_await locks_.try_acquire();
  if (taken.kind == LockSet::Outcome::Kind::gone && taken.index == request_lock_) {
    co_await coordination::ensure_path(context_.store, std::string(model::kRequestLocksRoot));
    taken = co_await locks_.try_acquire();
  }
  co_return taken;
}

// The last transaction of the work: also releases the request's lock. Returns false if a record has
// changed meanwhile. Throws any other StoreError.
Task<bool> NodeRequestHandler::commit_last(RecordBatch batch, std::string_view refusal) {
  locks_.release_in(batch.transaction(), request_lock_);
  try {
    co_await batch.commit_until_known(context_.runtime, context_.store);
  } catch (const TransactionError& error) {
    rethrow_argument_error(error);
    log_.debug("{}, a record has changed meanwhile: {}", refusal, error.what());
    co_return false;
  }
  locks_.released();
  co_return true;
}

// --- existing nodes

struct NodeRequestHandler::Check {
  Node node;
  std::size_t lock = 0;
  bool is_usable = false;
  std::optional<std::string> termination_reason = {};
  std::exception_ptr failure = {};

  Task<> run(driver::Provider& provider) {
    try {
      is_usable = co_await provider.is_usable(node);
      if (is_usable) co_return;
      std::map<std::string, std::string> terminated = co_await provider.terminated();
      const auto reason = terminated.find(node.id);
      if (reason != terminated.end()) termination_reason = std::move(reason->second);
    } catch (...) {
      failure = std::current_exception();
    }
  }
};

// Checks all existing nodes concurrently: an unreachable host takes until its timeout. Then takes
// the unusable ones out of service.
Task<bool> NodeRequestHandler::all_usable(driver::Provider& provider) {
  std::vector<Check> checks;
  for (const RequestedNode& wanted : requested_) {
    if (wanted.node_id.empty()) continue;
    const Node* node = context_.records.nodes.find(wanted.node_id);
    // Another launcher may have been faster, before the locks were taken.
    if (node == nullptr || node->state != NodeState::ready || node->allocated_to) co_return false;
    checks.push_back({*node, wanted.lock});
  }
  async::TaskScope scope(context_.runtime, telemetry::log_errors(log_));
  for (Check& check : checks | std::views::drop(1)) {
    scope.spawn("check node " + check.node.id, check.run(provider));
  }
  // In this task: a request for one node, the usual one, does not wait for another turn of the
  // loop.
  if (!checks.empty()) co_await checks.front().run(provider);
  co_await scope.join_or_stop();
  bool usable = true;
  for (const Check& check : checks) {
    if (check.failure) std::rethrow_exception(check.failure);
    if (check.is_usable) continue;
    usable = false;
    co_await take_out_of_service(check);
  }
  co_return usable;
}

// DeletedNodeWorker reclaims the node once it is unlocked.
Task<> NodeRequestHandler::take_out_of_service(const Check& check) {
  Node node = check.node;
  const std::optional<std::string>& reason = check.termination_reason;
  context_.about(log_, request_id_, node.id)
      .warning("Node {} is not usable, taking it out of service{}{}",
               node.hostname.value_or(node.id), reason ? ": " : "", reason.value_or(""));
  if (reason) {
    set_termination_reason(node, *reason);
    context_.history.machine_ended(node.id, *reason);
  }
  node.set_state(NodeState::deleting, context_.runtime.clock.wall_seconds());
  try {
    co_await lifecycle::save_locked(context_.node_writer(), node, locks_.lock(check.lock));
  } catch (const StoreError& error) {
    if (!error.is_rejection()) throw;  // another process was faster
  }
}

Node NodeRequestHandler::allocated(const Node& node) const {
  const NodeRequest& request = *context_.records.requests.find(request_id_);
  Node copy = node;
  copy.allocated_to = request_id_;
  copy.tenant_name = request.tenant_name;
  copy.requestor = request.requestor;
  return copy;
}

bool NodeRequestHandler::can_be_handed_out(const Node* node, const std::string& label) const {
  return node != nullptr && node->state == NodeState::ready && node->has_label(label) &&
         (!node->allocated_to || node->allocated_to == request_id_);
}

// One transaction, in the order that requestors rely on: nodes written and unlocked, then the
// request fulfilled, then unlocked. The removal of the own contenders proves that the locks are
// still held. The version checks prove that the records have not changed since the decision.
Task<Outcome> NodeRequestHandler::hand_out() {
  const NodeRequest* current = context_.records.requests.find(request_id_);
  if (current == nullptr) co_return Outcome::done;
  if (current->state != RequestState::requested && current->state != RequestState::pending) {
    co_return Outcome::try_again;
  }
  RecordBatch batch;
  NodeRequest request = *current;
  request.nodes.clear();
  for (std::size_t i = 0; i < requested_.size(); ++i) {
    const Node* node = context_.records.nodes.find(requested_[i].node_id);
    if (!can_be_handed_out(node, current->node_types[i])) co_return Outcome::try_again;
    if (node->allocated_to) {
      batch.transaction().check(model::node_path(node->id), node->stat.version);
    } else {
      batch.write(context_.records.nodes, allocated(*node));
    }
    locks_.release_in(batch.transaction(), requested_[i].lock);
    request.nodes.push_back(node->id);
  }
  request.set_state(RequestState::fulfilled, context_.runtime.clock.wall_seconds());
  batch.write(context_.records.requests, request);
  if (!co_await commit_last(std::move(batch), "Not fulfilled")) co_return Outcome::try_again;
  log_.info("Fulfilled node request with node(s) {}", fmt::join(request.nodes, ", "));
  report_end(request);
  co_return Outcome::done;
}

// --- new nodes

// Returns whether the launches may run.
Task<bool> NodeRequestHandler::begin(driver::Provider& provider, NodeLaunches& launches,
                                     QuotaBounds bounds) {
  if (!co_await prepare(provider, launches)) {
    log_.debug("Launches not started");
    co_return false;
  }
  if (!co_await launches.fit(bounds)) {
    log_.info("Another launcher has taken the capacity, retrying");
    co_return false;
  }
  co_return co_await launches.begin();
}

// When the launcher stops, launches are left as they are, to be resumed.
Task<Outcome> NodeRequestHandler::finish(NodeLaunches& launches) {
  try {
    switch (launches.empty() ? NodeLaunches::Outcome::ready : co_await launches.run()) {
      case NodeLaunches::Outcome::ready:
        co_return co_await hand_out();
      case NodeLaunches::Outcome::refused:
      case NodeLaunches::Outcome::lost:
        break;
      case NodeLaunches::Outcome::unanswered:
        // The request waits for the end of an outage, but not for a cloud that responds.
        if (!co_await launches.cloud_responds()) {
          log_.warning("The cloud does not respond, so the request waits: {}", launches.failure());
          break;
        }
        [[fallthrough]];
      case NodeLaunches::Outcome::failed:
        declining_ = {Reason::Code::launch_failed, launches.failure()};
        break;
    }
  } catch (const async::Cancelled&) {
    is_pending_ = false;
    throw;
  }
  co_return Outcome::try_again;
}

// One transaction: makes the request `pending`, allocates its existing nodes and records its new
// ones. It fails if the session, and with it the locks, was lost meanwhile.
Task<bool> NodeRequestHandler::prepare(driver::Provider& provider, NodeLaunches& launches) {
  const NodeRequest* current = context_.records.requests.find(request_id_);
  if (current == nullptr || current->state != RequestState::requested) co_return false;
  RecordBatch batch;
  NodeRequest request = *current;
  request.set_state(RequestState::pending, context_.runtime.clock.wall_seconds());
  locks_.lock(request_lock_).check_in(batch.transaction());
  const std::size_t request_write = batch.write(context_.records.requests, request);
  std::vector<std::string> labels;
  for (std::size_t i = 0; i < requested_.size(); ++i) {
    if (requested_[i].node_id.empty()) {
      labels.push_back(request.node_types[i]);
      continue;
    }
    const Node* node = context_.records.nodes.find(requested_[i].node_id);
    if (!can_be_handed_out(node, request.node_types[i])) co_return false;
    locks_.lock(requested_[i].lock).check_in(batch.transaction());
    batch.write(context_.records.nodes, allocated(*node));
  }
  launches.create_in(batch.transaction(), request, labels, choose_zone(provider));
  std::vector<coordination::OperationResult> results;
  bool is_node_missing = false;
  try {
    results = co_await batch.commit_until_known(context_.runtime, context_.store);
  } catch (const TransactionError& error) {
    rethrow_argument_error(error);
    log_.debug("Launches not started, a record has changed meanwhile: {}", error.what());
    is_node_missing = error.kind() == StoreError::Kind::no_node;
  }
  if (results.empty()) {
    // It may be the root of all nodes.
    if (is_node_missing) {
      co_await coordination::ensure_path(context_.store, std::string(model::kNodesRoot));
    }
    co_return false;
  }
  is_pending_ = true;
  const coordination::Stat written = results.at(request_write).stat;
  const std::vector<RequestedNode> created = co_await launches.created(std::move(results), written);
  if (created.empty()) co_return false;
  auto next = created.begin();
  for (RequestedNode& wanted : requested_) {
    if (wanted.node_id.empty()) wanted = *next++;
  }
  context_.usage.release(pool_.id, request_id_);  // the records count from now on
  co_return true;
}

// The nodes of one request share a zone: the zone of the existing ones, or any.
std::optional<std::string> NodeRequestHandler::choose_zone(driver::Provider& provider) const {
  for (const RequestedNode& wanted : requested_) {
    const Node* node =
        wanted.node_id.empty() ? nullptr : context_.records.nodes.find(wanted.node_id);
    if (node != nullptr && node->az) return *node->az;
  }
  const std::vector<std::string> zones = provider.offer()->pool(pool_.name).zones;
  if (zones.empty()) return std::nullopt;
  return zones[context_.runtime.random.below(zones.size())];
}

// --- resuming launches

Task<Outcome> NodeRequestHandler::resume(ProviderInService provider) {
  // First the request's lock only, so that a launcher that still serves it keeps the nodes' locks.
  const LockSet::Outcome taken = co_await take_locks();
  if (taken.kind != LockSet::Outcome::Kind::acquired) co_return Outcome::locked;
  Task<Outcome> resuming = take_over(std::move(provider));
  co_return co_await under_locks(std::move(resuming));
}

// Assigns an allocated node to each label of the request. Returns whether there is one for each.
bool NodeRequestHandler::find_requested() {
  const NodeRequest* request = context_.records.requests.find(request_id_);
  if (request == nullptr || request->state != RequestState::pending) return false;
  const auto is_suitable = [this](const Node& node) {
    return node.provider == pool_.provider && node.pool == pool_.name &&
           (node.state == NodeState::building || node.state == NodeState::ready);
  };
  std::vector<std::vector<std::string>> candidates(request->node_types.size());
  for (std::size_t i = 0; i < candidates.size(); ++i) {
    for (const std::string& id : context_.records.nodes.allocated_to(request_id_)) {
      const Node& node = *context_.records.nodes.find(id);
      if (is_suitable(node) && node.has_label(request->node_types[i])) candidates[i].push_back(id);
    }
  }
  for (std::string& id : planning::match(candidates)) {
    if (id.empty()) return false;
    const std::size_t lock =
        locks_.add(model::node_lock_path(id), context_.records.nodes.has_lock_root(id));
    requested_.push_back({std::move(id), lock});
  }
  return true;
}

Task<Outcome> NodeRequestHandler::take_over(ProviderInService provider) {
  if (!find_requested()) co_return Outcome::done;
  const LockSet::Outcome taken = co_await take_locks();
  if (taken.kind != LockSet::Outcome::Kind::acquired) co_return Outcome::locked;
  const NodeRequest* request = context_.records.requests.find(request_id_);
  if (request == nullptr || request->state != RequestState::pending) co_return Outcome::done;
  NodeLaunches launches(context_, std::move(provider), pool_, locks_, log_);
  for (const RequestedNode& wanted : requested_) {
    const Node* node = context_.records.nodes.find(wanted.node_id);
    if (node == nullptr || node->allocated_to != request_id_) co_return Outcome::done;
    if (node->state == NodeState::ready) continue;
    launches.take_over(*request, *node, wanted.lock);
  }
  log_.info("Resuming the interrupted launch of the request's node(s)");
  if (!launches.empty() && !co_await launches.begin_again()) co_return Outcome::try_again;
  is_pending_ = true;
  co_return co_await finish(launches);
}

// --- rollback

// Resets or declines the request and frees its nodes, in one transaction if possible. The check of
// the request's version proves that the request was not fulfilled meanwhile. If a record has
// changed (a withdrawn request, a deleted node), uses one transaction per record. Records with a
// lost lock are left to the new holder.
Task<> NodeRequestHandler::rollback_if_pending() {
  if (!is_pending_ || !locks_.held(request_lock_)) co_return;
  RecordBatch batch;
  for (const RequestedNode& wanted : requested_) add_node_release(batch, wanted);
  add_request_reset(batch);
  if (co_await commit_reset(std::move(batch))) {
    locks_.released();
    if (const NodeRequest* request = context_.records.requests.find(request_id_)) {
      report_end(*request);
    }
  } else {
    co_await reset_one_by_one();
  }
}

Task<> NodeRequestHandler::reset_one_by_one() {
  const std::string path = model::request_path(request_id_);
  // A deleted request never comes back.
  const bool is_gone = !co_await context_.store.exists(path);
  if (is_gone) context_.records.requests.removed(request_id_);
  for (const RequestedNode& wanted : requested_) {
    if (wanted.node_id.empty()) continue;
    RecordBatch alone;
    const NodeRequest* request = context_.records.requests.find(request_id_);
    if (request != nullptr) alone.transaction().check(path, request->stat.version);
    add_node_release(alone, wanted);
    if (co_await commit_reset(std::move(alone))) locks_.released(wanted.lock);
  }
  RecordBatch alone;
  add_request_reset(alone);
  if (co_await commit_reset(std::move(alone))) locks_.released(request_lock_);
}

Task<bool> NodeRequestHandler::commit_reset(RecordBatch batch) {
  try {
    co_await batch.commit_until_known(context_.runtime, context_.store);
  } catch (const StoreError& error) {
    log_.debug("Could not roll back in this transaction: {}", error.what());
    co_return false;
  }
  co_return true;
}

// Removes the record of a node that was never locked, and so has no machine. DeletedNodeWorker
// reclaims a node that is not ready once it is unlocked. Changes nothing if another process has
// fulfilled or reset the request.
void NodeRequestHandler::add_node_release(RecordBatch& batch, const RequestedNode& wanted) const {
  if (wanted.node_id.empty()) return;  // it has no record yet
  const NodeRequest* request = context_.records.requests.find(request_id_);
  const Node* node = context_.records.nodes.find(wanted.node_id);
  const bool is_ours = (request == nullptr || request->state == RequestState::pending) &&
                       node != nullptr && node->allocated_to == request_id_;
  if (!locks_.held(wanted.lock)) {
    if (is_ours && node->state == NodeState::init) {
      batch.transaction().remove(model::node_path(node->id), node->stat.version);
    }
    return;
  }
  if (is_ours && node->state == NodeState::ready) {
    Node copy = *node;
    copy.allocated_to.reset();
    batch.write(context_.records.nodes, std::move(copy));
  }
  locks_.release_in(batch.transaction(), wanted.lock);
}

void NodeRequestHandler::add_request_reset(RecordBatch& batch) const {
  const NodeRequest* current = context_.records.requests.find(request_id_);
  if (current != nullptr && current->state == RequestState::pending) {
    NodeRequest request = *current;
    request.set_state(RequestState::requested, context_.runtime.clock.wall_seconds());
    if (declining_.code != Reason::Code::none) add_decline(request, declining_);
    batch.write(context_.records.requests, std::move(request));
  }
  locks_.release_in(batch.transaction(), request_lock_);
}

// --- declining

void NodeRequestHandler::add_decline(NodeRequest& request, const Reason& reason) const {
  const std::string text = model::failure_text(sentence(reason));
  context_.history.declines(request_id_, pool_.id, reason);
  if (!request.declined(pool_.id)) {
    request.declined_by.push_back(pool_.id);
    request.decline_reasons[pool_.id] = text;
  }
  const bool failed = planning::declined_by_all(request, context_.records.components.pools()) &&
                      context_.expected_pool(request).empty();
  request.set_state(failed ? RequestState::failed : RequestState::requested,
                    context_.runtime.clock.wall_seconds());
  log_.info("Declining node request because: {}", text);
  if (failed) log_.info("Request failed: all pools have declined it");
}

Task<Outcome> NodeRequestHandler::decline(Reason reason) {
  const LockSet::Outcome taken = co_await take_locks();
  if (taken.kind != LockSet::Outcome::Kind::acquired) co_return Outcome::locked;
  Task<Outcome> writing = write_decline(std::move(reason));
  co_return co_await coordination::with_lock(locks_, std::move(writing));
}

Task<Outcome> NodeRequestHandler::write_decline(Reason reason) {
  const NodeRequest* current = context_.records.requests.find(request_id_);
  if (current == nullptr) co_return Outcome::done;
  if (current->state != RequestState::requested) co_return Outcome::try_again;
  RecordBatch batch;
  NodeRequest request = *current;
  add_decline(request, reason);
  // If the requestor made the record too large, drops the reasons.
  if (to_record(request).size() > coordination::kMaximumDataSize) request.decline_reasons.clear();
  batch.write(context_.records.requests, request);
  if (!co_await commit_last(std::move(batch), "Not declined")) co_return Outcome::try_again;
  report_end(request);
  co_return Outcome::done;
}

void NodeRequestHandler::report_end(const NodeRequest& request) const {
  const bool is_over =
      request.state == RequestState::fulfilled || request.state == RequestState::failed;
  const std::optional<double> seconds = wait_of(request, context_.runtime.clock.wall_seconds());
  if (!is_over || !seconds) return;
  const std::chrono::duration<double> wait(*seconds);
  // Other labels are any text from a requestor.
  const std::set<std::string_view> offered = context_.records.components.supported_labels();
  for (const std::string& label : std::set(request.node_types.begin(), request.node_types.end())) {
    if (!offered.contains(label)) continue;
    context_.metrics.time(telemetry::series<kRequestWait>(label, to_string(request.state)),
                          std::chrono::duration_cast<std::chrono::nanoseconds>(wait));
  }
}

}  // namespace nodepool::launcher
