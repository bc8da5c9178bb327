#include "launcher/node_request_handler.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "coordination/known_outcome.h"
#include "coordination/tree.h"
#include "model/failure_text.h"
#include "model/paths.h"
#include "planning/decision.h"
#include "planning/matching.h"

namespace nodepool::launcher {

namespace {

using coordination::commit_until_known;
using coordination::LockSet;
using coordination::StoreError;
using coordination::Transaction;
using coordination::TransactionError;
using model::Node;
using model::NodeRequest;
using model::NodeState;
using model::RequestState;
using planning::Reason;
using Outcome = NodeRequestHandler::Outcome;

// Throws the error on unless it says that something has changed: what a store does not take because
// of its size it never will.
void require_answer(const TransactionError& error) {
  if (error.kind() == StoreError::Kind::invalid) throw StoreError(error);
}

}  // namespace

// What a transaction of record writes leaves in the tables once it is committed.
class NodeRequestHandler::Writes {
 public:
  explicit Writes(LauncherContext& context) : context_(context) {}

  void node(Transaction& transaction, const Node& node) {
    nodes_.push_back({transaction.size(), node});
    transaction.set(model::node_path(node.id), to_record(node), node.stat.version);
  }

  void request(Transaction& transaction, const NodeRequest& request) {
    request_.emplace(transaction.size(), request);
    transaction.set(model::request_path(request.id), to_record(request), request.stat.version);
  }

  void committed(const std::vector<coordination::OperationResult>& results) const {
    for (const auto& [operation, node] : nodes_) {
      const coordination::Stat& stat = results.at(operation).stat;
      if (is_known(stat)) context_.nodes.written(node, stat);
    }
    if (!request_) return;
    const coordination::Stat& stat = results.at(request_->first).stat;
    if (is_known(stat)) context_.requests.written(request_->second, stat);
  }

  coordination::Stat request_stat(const std::vector<coordination::OperationResult>& results) const {
    return results.at(request_->first).stat;
  }

 private:
  // A record that others have changed again comes by its event.
  static bool is_known(const coordination::Stat& stat) { return stat.mzxid != 0; }

  LauncherContext& context_;
  // With the index of the operation that writes each.
  std::vector<std::pair<std::size_t, Node>> nodes_;
  std::optional<std::pair<std::size_t, NodeRequest>> request_;
};

NodeRequestHandler::NodeRequestHandler(LauncherContext& context, PoolIdentity pool,
                                       std::string request_id)
    : context_(context),
      pool_(std::move(pool)),
      request_id_(std::move(request_id)),
      log_(context.log.child("NodeRequestHandler")),
      locks_(context.store, context.runtime.random) {
  if (const NodeRequest* request = context_.requests.find(request_id_)) {
    log_ = log_.about(request->event_id.value_or(""), request_id_);
  }
  request_lock_ = locks_.add(model::request_lock_path(request_id_), /*root_exists=*/false);
}

Task<Outcome> NodeRequestHandler::fulfil(ProviderInService provider, std::vector<std::string> plan,
                                         QuotaBounds bounds) {
  const std::shared_ptr<driver::Provider> maker = provider.provider;
  bool launches = false;
  std::vector<std::string> reused;
  for (std::string& id : plan) {
    Place place{std::move(id), 0};
    if (place.node_id.empty()) {
      launches = true;
    } else {
      reused.push_back(place.node_id);
      place.lock = locks_.add(model::node_lock_path(place.node_id),
                              context_.nodes.has_lock_root(place.node_id));
    }
    places_.push_back(std::move(place));
  }
  const LockSet::Outcome taken = co_await take_locks();
  if (taken.kind != LockSet::Outcome::Kind::acquired) {
    co_return taken.index == request_lock_ ? Outcome::locked : Outcome::try_again;
  }
  Outcome outcome = Outcome::try_again;
  std::exception_ptr failure;
  try {
    const bool usable = co_await all_usable(*provider.provider);
    if (usable && launches) {
      outcome = co_await launch_and_hand_out(std::move(provider), std::move(bounds));
    } else if (usable) {
      outcome = co_await hand_out();
    }
  } catch (...) {
    failure = std::current_exception();
  }
  co_await locks_.release();
  if (failure) std::rethrow_exception(failure);
  for (const std::string& id : reused) {
    const Node* node = context_.nodes.find(id);
    if (node != nullptr && node->allocated_to == request_id_) maker->node_reused(*node);
  }
  co_return outcome;
}

// The root of all requests' locks may have been removed by somebody: it is made anew.
Task<LockSet::Outcome> NodeRequestHandler::take_locks() {
  LockSet::Outcome taken = co_await locks_.try_acquire();
  if (taken.kind == LockSet::Outcome::Kind::gone && taken.index == request_lock_) {
    co_await coordination::ensure_path(context_.store, std::string(model::kRequestLocksRoot));
    taken = co_await locks_.try_acquire();
  }
  co_return taken;
}

// --- existing nodes
// -----------------------------------------------------------------------------------

// Looks at all existing nodes; takes those that do not work out of service.
Task<bool> NodeRequestHandler::all_usable(driver::Provider& provider) {
  bool usable = true;
  for (const Place& place : places_) {
    if (place.node_id.empty()) continue;
    const Node* node = context_.nodes.find(place.node_id);
    // Another launcher may have been faster, before the locks were taken.
    if (node == nullptr || node->state != NodeState::ready || node->allocated_to) co_return false;
    Node copy = *node;
    if (co_await provider.is_usable(copy)) continue;
    usable = false;
    log_.about({}, request_id_, copy.id)
        .warning("Node {} is not usable, taking it out of service",
                 copy.hostname.value_or(copy.id));
    co_await take_out_of_service(std::move(copy), place.lock);
  }
  co_return usable;
}

// The worker for deleted nodes does the rest once the node is unlocked.
Task<> NodeRequestHandler::take_out_of_service(Node node, std::size_t lock) {
  node.set_state(NodeState::deleting, context_.runtime.clock.wall_seconds());
  Transaction transaction;
  transaction.set(model::node_path(node.id), to_record(node), node.stat.version);
  locks_.check_in(transaction, lock);
  try {
    const auto results =
        co_await commit_until_known(context_.runtime, context_.store, std::move(transaction));
    context_.nodes.written(node, results.front().stat);
  } catch (const StoreError& error) {
    if (!error.is_answer()) throw;  // somebody else was faster
  }
}

Node NodeRequestHandler::allocated(const Node& node) const {
  const NodeRequest& request = *context_.requests.find(request_id_);
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
// request fulfilled, then unlocked. The removal of the own contenders also proves that the locks
// are still held; the version checks, that the records are those that were decided upon.
Task<Outcome> NodeRequestHandler::hand_out() {
  const NodeRequest* current = context_.requests.find(request_id_);
  if (current == nullptr) co_return Outcome::done;
  if (current->state != RequestState::requested && current->state != RequestState::pending) {
    co_return Outcome::try_again;
  }
  Transaction transaction;
  Writes writes(context_);
  NodeRequest request = *current;
  request.nodes.clear();
  for (std::size_t i = 0; i < places_.size(); ++i) {
    const Node* node = context_.nodes.find(places_[i].node_id);
    if (!can_be_handed_out(node, current->node_types[i])) co_return Outcome::try_again;
    if (node->allocated_to) {
      transaction.check(model::node_path(node->id), node->stat.version);
    } else {
      writes.node(transaction, allocated(*node));
    }
    locks_.release_in(transaction, places_[i].lock);
    request.nodes.push_back(node->id);
  }
  request.set_state(RequestState::fulfilled, context_.runtime.clock.wall_seconds());
  writes.request(transaction, request);
  locks_.release_in(transaction, request_lock_);
  try {
    writes.committed(
        co_await commit_until_known(context_.runtime, context_.store, std::move(transaction)));
    locks_.released();
  } catch (const TransactionError& error) {
    require_answer(error);
    log_.debug("Not fulfilled, something has changed meanwhile: {}", error.what());
    co_return Outcome::try_again;
  }
  log_.info("Fulfilled node request with node(s) {}", fmt::join(request.nodes, ", "));
  co_return Outcome::done;
}

// --- new nodes
// ----------------------------------------------------------------------------------------

Task<Outcome> NodeRequestHandler::launch_and_hand_out(ProviderInService provider,
                                                      QuotaBounds bounds) {
  const bool resumes = driver::resumes(*provider.provider);
  NodeLaunches launches(context_, provider, pool_, locks_, log_);
  bool begun = false;
  std::exception_ptr failure;
  try {
    if (!co_await prepare(*provider.provider, launches)) {
      log_.debug("Not begun");
    } else if (!co_await launches.fit(bounds)) {
      log_.info("Another launcher has taken the room, trying again");
    } else {
      begun = co_await launches.begin();
    }
  } catch (...) {
    failure = std::current_exception();
  }
  if (begun) co_return co_await finish(launches, resumes);
  if (is_pending_ && locks_.held(request_lock_)) co_await let_go({});
  if (failure) std::rethrow_exception(failure);
  co_return Outcome::try_again;
}

// A launcher that is stopped leaves launches that can be resumed as they are.
Task<Outcome> NodeRequestHandler::finish(NodeLaunches& launches, bool resumes) {
  Outcome outcome = Outcome::try_again;
  Reason declining;  // none: the request is put back
  bool left_for_later = false;
  std::exception_ptr failure;
  try {
    switch (launches.empty() ? NodeLaunches::Outcome::ready : co_await launches.run()) {
      case NodeLaunches::Outcome::ready:
        outcome = co_await hand_out();
        break;
      case NodeLaunches::Outcome::refused:
      case NodeLaunches::Outcome::lost:
        break;
      case NodeLaunches::Outcome::failed:
        declining = {Reason::Code::launch_failed, launches.failure()};
        break;
    }
  } catch (const async::Cancelled&) {
    left_for_later = resumes;
    failure = std::current_exception();
  } catch (...) {
    failure = std::current_exception();
  }
  if (locks_.held(request_lock_) && !left_for_later) co_await let_go(std::move(declining));
  if (failure) std::rethrow_exception(failure);
  co_return outcome;
}

// One transaction: the request is `pending`, its existing nodes allocated, its new ones recorded.
// It is refused if the session, and with it the locks, has been lost meanwhile.
Task<bool> NodeRequestHandler::prepare(driver::Provider& provider, NodeLaunches& launches) {
  const NodeRequest* current = context_.requests.find(request_id_);
  if (current == nullptr || current->state != RequestState::requested) co_return false;
  Transaction transaction;
  Writes writes(context_);
  NodeRequest request = *current;
  request.set_state(RequestState::pending, context_.runtime.clock.wall_seconds());
  locks_.check_in(transaction, request_lock_);
  writes.request(transaction, request);
  std::vector<std::string> labels;
  for (std::size_t i = 0; i < places_.size(); ++i) {
    if (places_[i].node_id.empty()) {
      labels.push_back(request.node_types[i]);
      continue;
    }
    const Node* node = context_.nodes.find(places_[i].node_id);
    if (!can_be_handed_out(node, request.node_types[i])) co_return false;
    locks_.check_in(transaction, places_[i].lock);
    writes.node(transaction, allocated(*node));
  }
  launches.create_in(transaction, request, labels, choose_zone(provider));
  std::vector<coordination::OperationResult> results;
  bool is_something_gone = false;
  try {
    results = co_await commit_until_known(context_.runtime, context_.store, std::move(transaction));
  } catch (const TransactionError& error) {
    require_answer(error);
    log_.debug("Not begun, something has changed meanwhile: {}", error.what());
    is_something_gone = error.kind() == StoreError::Kind::no_node;
  }
  if (results.empty()) {
    // It may be what all nodes live in.
    if (is_something_gone) {
      co_await coordination::ensure_path(context_.store, std::string(model::kNodesRoot));
    }
    co_return false;
  }
  is_pending_ = true;
  writes.committed(results);
  const coordination::Stat written = writes.request_stat(results);
  const std::vector<Place> created = co_await launches.created(std::move(results), written);
  if (created.empty()) co_return false;
  auto next = created.begin();
  for (Place& place : places_) {
    if (place.node_id.empty()) place = *next++;
  }
  context_.usage.unbook(pool_.id, request_id_);  // the records say it from now on
  co_return true;
}

// The nodes of one request share a zone: that of the existing ones, or any.
std::optional<std::string> NodeRequestHandler::choose_zone(driver::Provider& provider) const {
  for (const Place& place : places_) {
    const Node* node = place.node_id.empty() ? nullptr : context_.nodes.find(place.node_id);
    if (node != nullptr && node->az) return node->az;
  }
  const std::vector<std::string> zones = provider.zones(pool_.name);
  if (zones.empty()) return std::nullopt;
  return zones[context_.runtime.random.below(zones.size())];
}

// --- going on with what others have begun
// --------------------------------------------------------------

Task<Outcome> NodeRequestHandler::resume(ProviderInService provider) {
  // The request's alone: whoever is at work on it after all finds the nodes' locks as they were.
  const LockSet::Outcome taken = co_await take_locks();
  if (taken.kind != LockSet::Outcome::Kind::acquired) co_return Outcome::locked;
  Outcome outcome = Outcome::done;
  std::exception_ptr failure;
  try {
    if (find_places()) outcome = co_await take_over(std::move(provider));
  } catch (...) {
    failure = std::current_exception();
  }
  co_await locks_.release();
  if (failure) std::rethrow_exception(failure);
  co_return outcome;
}

// Finds a node for each label of the request among those that it has been given. Returns whether
// there is one for each.
bool NodeRequestHandler::find_places() {
  const NodeRequest* request = context_.requests.find(request_id_);
  if (request == nullptr || request->state != RequestState::pending) return false;
  const auto is_of_use = [this](const Node& node) {
    return node.provider == pool_.provider && node.pool == pool_.name &&
           (node.state == NodeState::building || node.state == NodeState::ready);
  };
  std::vector<std::vector<std::string>> candidates(request->node_types.size());
  for (std::size_t i = 0; i < candidates.size(); ++i) {
    for (const std::string& id : context_.nodes.allocated_to(request_id_)) {
      const Node& node = *context_.nodes.find(id);
      if (is_of_use(node) && node.has_label(request->node_types[i])) candidates[i].push_back(id);
    }
  }
  for (std::string& id : planning::match(candidates)) {
    if (id.empty()) return false;
    const std::size_t lock =
        locks_.add(model::node_lock_path(id), context_.nodes.has_lock_root(id));
    places_.push_back({std::move(id), lock});
  }
  return true;
}

Task<Outcome> NodeRequestHandler::take_over(ProviderInService provider) {
  const LockSet::Outcome taken = co_await take_locks();
  if (taken.kind != LockSet::Outcome::Kind::acquired) co_return Outcome::locked;
  const NodeRequest* request = context_.requests.find(request_id_);
  if (request == nullptr || request->state != RequestState::pending) co_return Outcome::done;
  NodeLaunches launches(context_, std::move(provider), pool_, locks_, log_);
  for (const Place& place : places_) {
    const Node* node = context_.nodes.find(place.node_id);
    if (node == nullptr || node->allocated_to != request_id_) co_return Outcome::done;
    if (node->state == NodeState::ready) continue;
    launches.take_over(*request, *node, place.lock);
  }
  log_.info("Going on with the launch of node(s) that was interrupted");
  if (!launches.empty() && !co_await launches.begin_again()) co_return Outcome::try_again;
  co_return co_await finish(launches, /*resumes=*/true);
}

// --- giving up
// ----------------------------------------------------------------------------------------

// Puts the request back, or declines it; frees its nodes. In one transaction if possible: the
// request's version in it proves that the nodes are freed for the request that was to be served,
// and not taken from one that has been answered meanwhile. If something has changed (the requestor
// has withdrawn the request, somebody has deleted a node) each goes on its own. A lost lock leaves
// its record to whoever has the lock now.
Task<> NodeRequestHandler::let_go(Reason declining) {
  Transaction transaction;
  Writes writes(context_);
  for (const Place& place : places_) free_in(transaction, writes, place);
  put_back_in(transaction, writes, declining);
  if (co_await commit_letting_go(std::move(transaction), writes)) {
    locks_.released();
  } else {
    co_await let_go_one_by_one(std::move(declining));
  }
}

Task<> NodeRequestHandler::let_go_one_by_one(Reason declining) {
  const std::string path = model::request_path(request_id_);
  // A request that is gone does not come back: nothing is taken from anybody.
  const bool is_gone = !co_await context_.store.exists(path);
  if (is_gone) context_.requests.removed(request_id_);
  for (const Place& place : places_) {
    if (place.node_id.empty()) continue;
    Transaction alone;
    Writes written(context_);
    const NodeRequest* request = context_.requests.find(request_id_);
    if (request != nullptr) alone.check(path, request->stat.version);
    free_in(alone, written, place);
    if (co_await commit_letting_go(std::move(alone), written)) locks_.released(place.lock);
  }
  Transaction alone;
  Writes written(context_);
  put_back_in(alone, written, declining);
  if (co_await commit_letting_go(std::move(alone), written)) locks_.released(request_lock_);
}

Task<bool> NodeRequestHandler::commit_letting_go(Transaction transaction, const Writes& writes) {
  try {
    writes.committed(
        co_await commit_until_known(context_.runtime, context_.store, std::move(transaction)));
  } catch (const StoreError& error) {
    log_.debug("Not let go at once: {}", error.what());
    co_return false;
  }
  co_return true;
}

// A node that has not been locked has no machine: its record goes. One that is not ready is taken
// back by its provider once it is unlocked. Of a request that has been answered, or put back, by
// somebody else nothing is touched.
void NodeRequestHandler::free_in(Transaction& transaction, Writes& writes, const Place& place) {
  if (place.node_id.empty()) return;  // it has no record yet
  const NodeRequest* request = context_.requests.find(request_id_);
  const Node* node = context_.nodes.find(place.node_id);
  const bool is_ours = (request == nullptr || request->state == RequestState::pending) &&
                       node != nullptr && node->allocated_to == request_id_;
  if (!locks_.held(place.lock)) {
    if (is_ours && node->state == NodeState::init) {
      transaction.remove(model::node_path(node->id), node->stat.version);
    }
    return;
  }
  if (is_ours && node->state == NodeState::ready) {
    Node copy = *node;
    copy.allocated_to.reset();
    writes.node(transaction, copy);
  }
  locks_.release_in(transaction, place.lock);
}

void NodeRequestHandler::put_back_in(Transaction& transaction, Writes& writes,
                                     const Reason& declining) {
  const NodeRequest* current = context_.requests.find(request_id_);
  if (current != nullptr && current->state == RequestState::pending) {
    NodeRequest request = *current;
    request.set_state(RequestState::requested, context_.runtime.clock.wall_seconds());
    if (declining.code != Reason::Code::none) add_decline(request, declining);
    writes.request(transaction, request);
  }
  locks_.release_in(transaction, request_lock_);
}

// --- declining
// ----------------------------------------------------------------------------------------

void NodeRequestHandler::add_decline(NodeRequest& request, const Reason& reason) const {
  const std::string text = model::failure_text(sentence(reason));
  if (!request.declined(pool_.id)) {
    request.declined_by.push_back(pool_.id);
    request.decline_reasons[pool_.id] = text;
  }
  const bool failed = planning::declined_by_all(request, context_.components.pools()) &&
                      context_.expected_pool(request).empty();
  request.set_state(failed ? RequestState::failed : RequestState::requested,
                    context_.runtime.clock.wall_seconds());
  log_.info("Declining node request because: {}", text);
  if (failed) log_.info("Request failed: all pools have declined it");
}

Task<Outcome> NodeRequestHandler::decline(Reason reason) {
  const LockSet::Outcome taken = co_await take_locks();
  if (taken.kind != LockSet::Outcome::Kind::acquired) co_return Outcome::locked;
  Outcome outcome = Outcome::try_again;
  std::exception_ptr failure;
  try {
    outcome = co_await write_decline(std::move(reason));
  } catch (...) {
    failure = std::current_exception();
  }
  co_await locks_.release();
  if (failure) std::rethrow_exception(failure);
  co_return outcome;
}

Task<Outcome> NodeRequestHandler::write_decline(Reason reason) {
  const NodeRequest* current = context_.requests.find(request_id_);
  if (current == nullptr) co_return Outcome::done;
  if (current->state != RequestState::requested) co_return Outcome::try_again;
  Transaction transaction;
  Writes writes(context_);
  NodeRequest request = *current;
  add_decline(request, reason);
  // A requestor may fill its record to the brim: then the answer has to do without the reasons.
  if (to_record(request).size() > coordination::kMaximumDataSize) request.decline_reasons.clear();
  writes.request(transaction, request);
  locks_.release_in(transaction, request_lock_);
  try {
    writes.committed(
        co_await commit_until_known(context_.runtime, context_.store, std::move(transaction)));
    locks_.released();
  } catch (const TransactionError& error) {
    require_answer(error);
    log_.debug("Not declined, something has changed meanwhile: {}", error.what());
    co_return Outcome::try_again;
  }
  co_return Outcome::done;
}

}  // namespace nodepool::launcher
