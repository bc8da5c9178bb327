#include "launcher/node_request_handler.h"

#include <fmt/format.h>

#include "launcher/decision.h"
#include "model/paths.h"

namespace nodepool::launcher {

namespace {

using coordination::LockSet;
using coordination::StoreError;
using coordination::Transaction;
using coordination::TransactionError;
using model::Node;
using model::NodeRequest;
using model::NodeState;
using model::RequestState;
using Outcome = NodeRequestHandler::Outcome;

constexpr std::size_t kRequestLock = 0;

// Whether a refused transaction only says that somebody else was faster.
bool lost_a_race(const StoreError& error) {
  return error.is_answer();
}

}  // namespace

NodeRequestHandler::NodeRequestHandler(LauncherContext& context, std::string pool_id,
                                       std::string request_id)
    : context_(context),
      pool_id_(std::move(pool_id)),
      request_id_(std::move(request_id)),
      log_(context.log.child("NodeRequestHandler")),
      locks_(context.store, context.runtime.random) {
  if (const NodeRequest* request = context_.requests.find(request_id_)) {
    log_ = log_.about(request->event_id.value_or(""), request_id_);
  }
  locks_.add(model::request_lock_path(request_id_), /*root_exists=*/false);
}

Task<Outcome> NodeRequestHandler::fulfil(driver::Provider& provider,
                                         std::vector<std::string> node_ids) {
  node_ids_ = std::move(node_ids);
  for (const std::string& id : node_ids_) {
    locks_.add(model::node_lock_path(id), context_.nodes.has_lock_root(id));
  }
  const LockSet::Outcome taken = co_await locks_.try_acquire();
  if (taken.kind != LockSet::Outcome::Kind::acquired) {
    co_return taken.index == kRequestLock ? Outcome::locked : Outcome::try_again;
  }
  Outcome outcome = Outcome::try_again;
  std::exception_ptr failure;
  try {
    if (co_await all_usable(provider)) outcome = co_await hand_out();
  } catch (...) {
    failure = std::current_exception();
  }
  co_await locks_.release();
  if (failure) std::rethrow_exception(failure);
  co_return outcome;
}

// Looks at all nodes; takes those that do not work out of service.
Task<bool> NodeRequestHandler::all_usable(driver::Provider& provider) {
  bool usable = true;
  for (std::size_t i = 0; i < node_ids_.size(); ++i) {
    const Node* node = context_.nodes.find(node_ids_[i]);
    // Another launcher may have been faster, before the locks were taken.
    if (node == nullptr || node->state != NodeState::ready || node->allocated_to) co_return false;
    Node copy = *node;
    if (co_await provider.is_usable(copy)) continue;
    usable = false;
    log_.about({}, request_id_, copy.id)
        .warning("Node {} is not usable, taking it out of service",
                 copy.hostname.value_or(copy.id));
    co_await take_out_of_service(std::move(copy), i + 1);
  }
  co_return usable;
}

// The worker for deleted nodes does the rest once the node is unlocked.
Task<> NodeRequestHandler::take_out_of_service(Node node, std::size_t lock) {
  node.set_state(NodeState::deleting, context_.runtime.clock.wall_seconds());
  const std::string text = to_record(node);
  Transaction transaction;
  transaction.set(model::node_path(node.id), text, node.stat.version);
  locks_.check_in(transaction, lock);
  try {
    const auto results = co_await context_.store.commit(std::move(transaction));
    context_.nodes.written(node.id, text, results.front().stat);
  } catch (const StoreError& error) {
    if (!lost_a_race(error)) throw;
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

// One transaction, in the order that requestors rely on: nodes written and unlocked, then the
// request fulfilled, then unlocked. The removal of the own contenders also proves that the locks
// are still held; the version checks, that the records are those that were decided upon.
Task<Outcome> NodeRequestHandler::hand_out() {
  const NodeRequest* current = context_.requests.find(request_id_);
  if (current == nullptr) co_return Outcome::done;
  if (current->state != RequestState::requested) co_return Outcome::try_again;

  Transaction transaction;
  struct Written {
    std::size_t operation;
    std::string id;
    std::string text;
  };
  std::vector<Written> written;
  for (std::size_t i = 0; i < node_ids_.size(); ++i) {
    const Node* node = context_.nodes.find(node_ids_[i]);
    if (node == nullptr || node->state != NodeState::ready || node->allocated_to ||
        !node->has_label(current->node_types[i])) {
      co_return Outcome::try_again;
    }
    std::string text = to_record(allocated(*node));
    written.push_back({transaction.size(), node->id, text});
    transaction.set(model::node_path(node->id), std::move(text), node->stat.version);
    locks_.release_in(transaction, i + 1);
  }
  NodeRequest request = *current;
  request.nodes = node_ids_;
  request.set_state(RequestState::fulfilled, context_.runtime.clock.wall_seconds());
  const std::string request_text = to_record(request);
  const std::size_t request_operation = transaction.size();
  transaction.set(model::request_path(request_id_), request_text, request.stat.version);
  locks_.release_in(transaction, kRequestLock);

  try {
    const auto results = co_await context_.store.commit(std::move(transaction));
    locks_.released();
    for (const Written& node : written) {
      context_.nodes.written(node.id, node.text, results[node.operation].stat);
    }
    context_.requests.written(request_id_, request_text, results[request_operation].stat);
  } catch (const TransactionError& error) {
    log_.debug("Not fulfilled, something has changed meanwhile: {}", error.what());
    co_return Outcome::try_again;
  }
  log_.info("Fulfilled node request with node(s) {}", fmt::join(node_ids_, ", "));
  co_return Outcome::done;
}

Task<Outcome> NodeRequestHandler::decline(std::string reason) {
  const LockSet::Outcome taken = co_await locks_.try_acquire();
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

Task<Outcome> NodeRequestHandler::write_decline(std::string reason) {
  const NodeRequest* current = context_.requests.find(request_id_);
  if (current == nullptr) co_return Outcome::done;
  if (current->state != RequestState::requested) co_return Outcome::try_again;
  NodeRequest request = *current;
  if (!request.declined(pool_id_)) {
    request.declined_by.push_back(pool_id_);
    request.decline_reasons[pool_id_] = reason;
  }
  const bool failed = declined_by_all(request, context_.components.pools());
  request.set_state(failed ? RequestState::failed : RequestState::requested,
                    context_.runtime.clock.wall_seconds());
  const std::string text = to_record(request);
  Transaction transaction;
  transaction.set(model::request_path(request_id_), text, request.stat.version);
  locks_.release_in(transaction, kRequestLock);
  try {
    const auto results = co_await context_.store.commit(std::move(transaction));
    locks_.released();
    context_.requests.written(request_id_, text, results.front().stat);
  } catch (const TransactionError& error) {
    log_.debug("Not declined, something has changed meanwhile: {}", error.what());
    co_return Outcome::try_again;
  }
  log_.info("Declining node request because: {}", reason);
  if (failed) log_.info("Request failed: all pools have declined it");
  co_return Outcome::done;
}

}  // namespace nodepool::launcher
