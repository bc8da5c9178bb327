#include "launcher/node_request_handler.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "async/finally.h"
#include "coordination/tree.h"
#include "coordination/with_lock.h"
#include "launcher/rollback.h"
#include "launcher/usability_check.h"
#include "model/paths.h"
#include "planning/matching.h"

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
using Step = NodeLaunches::Step;

}  // namespace

NodeRequestHandler::NodeRequestHandler(const ServingContext& context, PoolIdentity pool,
                                       std::string request_id)
    : context_(context), request_(context, std::move(pool), std::move(request_id)) {}

Task<Outcome> NodeRequestHandler::fulfil(ProviderInService provider, std::vector<std::string> plan,
                                         QuotaBounds bounds) {
  for (std::string& id : plan) request_.add_node(std::move(id));
  const LockSet::Outcome taken = co_await request_.take();
  if (taken.kind != LockSet::Outcome::Kind::acquired) {
    co_return taken.index == request_.request_lock() ? Outcome::locked : Outcome::try_again;
  }
  Task<Outcome> serving = serve(std::move(provider), std::move(bounds));
  co_return co_await under_locks(std::move(serving));
}

// Requires the locks of the request and its existing nodes.
Task<Outcome> NodeRequestHandler::serve(ProviderInService provider, QuotaBounds bounds) {
  if (!co_await all_usable(request_, *provider.provider)) co_return Outcome::try_again;
  const auto is_new = [](const RequestedNode& wanted) { return wanted.node_id.empty(); };
  if (std::ranges::none_of(request_.nodes(), is_new)) co_return co_await hand_out();
  NodeLaunches launches(context_, provider, request_.pool(), request_.locks(), request_.log());
  if (co_await prepare(*provider.provider, launches) == Step::refused) {
    request_.log().debug("Launches not started");
    co_return Outcome::try_again;
  }
  if (!co_await launches.fit(bounds)) {
    request_.log().info("Another launcher has taken the capacity, retrying");
    co_return Outcome::try_again;
  }
  if (co_await launches.begin() == Step::refused) co_return Outcome::try_again;
  co_return co_await finish(launches);
}

// Runs the work, and releases the locks. If the request is `pending` then, rolls it back before.
Task<Outcome> NodeRequestHandler::under_locks(Task<Outcome> work) {
  const auto roll_back_pending = [this] { return roll_back_if_pending(); };
  Task<Outcome> working = async::finally(std::move(work), roll_back_pending);
  co_return co_await coordination::with_lock(request_.locks(), std::move(working));
}

Task<> NodeRequestHandler::roll_back_if_pending() {
  if (!is_pending_ || !request_.locks().held(request_.request_lock())) co_return;
  co_await roll_back(request_, declining_);
}

// --- existing nodes

Node NodeRequestHandler::allocated(const Node& node) const {
  const NodeRequest& request = *request_.record();
  Node copy = node;
  copy.allocated_to = request_.id();
  copy.tenant_name = request.tenant_name;
  copy.requestor = request.requestor;
  return copy;
}

bool NodeRequestHandler::can_be_handed_out(const Node* node, const std::string& label) const {
  return node != nullptr && node->state == NodeState::ready && node->has_label(label) &&
         (!node->allocated_to || node->allocated_to == request_.id());
}

// The requestor may have changed the labels since the decision.
bool NodeRequestHandler::has_node_for_each_label(const NodeRequest& request) const {
  return request_.nodes().size() == request.node_types.size();
}

// One transaction, in the order that requestors rely on: nodes written and unlocked, then the
// request fulfilled, then unlocked. The removal of the own contenders proves that the locks are
// still held. The version checks prove that the records have not changed since the decision.
Task<Outcome> NodeRequestHandler::hand_out() {
  const NodeRequest* current = request_.record();
  if (current == nullptr) co_return Outcome::done;
  if (current->state != RequestState::requested && current->state != RequestState::pending) {
    co_return Outcome::try_again;
  }
  if (!has_node_for_each_label(*current)) co_return Outcome::try_again;
  RecordBatch batch;
  NodeRequest request = *current;
  request.nodes.clear();
  for (std::size_t i = 0; i < request_.nodes().size(); ++i) {
    const Node* node = context_.records.nodes.find(request_.nodes()[i].node_id);
    if (!can_be_handed_out(node, current->node_types[i])) co_return Outcome::try_again;
    if (node->allocated_to) {
      batch.transaction().check(model::node_path(node->id), node->stat.version);
    } else {
      batch.write(context_.records.nodes, allocated(*node));
    }
    request_.locks().release_in(batch.transaction(), request_.nodes()[i].lock);
    request.nodes.push_back(node->id);
  }
  request.set_state(RequestState::fulfilled, context_.runtime.clock.wall_seconds());
  batch.write(context_.records.requests, request);
  const bool is_fulfilled = co_await request_.commit_last(std::move(batch), "Not fulfilled");
  if (!is_fulfilled) co_return Outcome::try_again;
  request_.log().info("Fulfilled node request with node(s) {}", fmt::join(request.nodes, ", "));
  request_.report_end(request);
  co_return Outcome::done;
}

// --- new nodes

// When the launcher stops, or the provider was replaced and cannot complete them, launches are left
// as they are, to be resumed.
Task<Outcome> NodeRequestHandler::finish(NodeLaunches& launches) {
  try {
    switch (launches.empty() ? NodeLaunches::Outcome::ready : co_await launches.run()) {
      case NodeLaunches::Outcome::ready:
        co_return co_await hand_out();
      case NodeLaunches::Outcome::refused:
      case NodeLaunches::Outcome::lost:
        break;
      case NodeLaunches::Outcome::replaced:
        is_pending_ = false;
        break;
      case NodeLaunches::Outcome::unanswered:
        // The request waits for the end of an outage, but not for a cloud that responds.
        if (!co_await launches.cloud_responds()) {
          request_.log().warning("The cloud does not respond, so the request waits: {}",
                                 launches.failure());
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
Task<Step> NodeRequestHandler::prepare(driver::Provider& provider, NodeLaunches& launches) {
  const NodeRequest* current = request_.record();
  if (current == nullptr || current->state != RequestState::requested) co_return Step::refused;
  if (!has_node_for_each_label(*current)) co_return Step::refused;
  RecordBatch batch;
  NodeRequest request = *current;
  request.set_state(RequestState::pending, context_.runtime.clock.wall_seconds());
  request_.locks().lock(request_.request_lock()).check_in(batch.transaction());
  batch.write(context_.records.requests, request, &request.stat);
  std::vector<std::string> labels;
  for (std::size_t i = 0; i < request_.nodes().size(); ++i) {
    if (request_.nodes()[i].node_id.empty()) {
      labels.push_back(request.node_types[i]);
      continue;
    }
    const Node* node = context_.records.nodes.find(request_.nodes()[i].node_id);
    if (!can_be_handed_out(node, request.node_types[i])) co_return Step::refused;
    request_.locks().lock(request_.nodes()[i].lock).check_in(batch.transaction());
    batch.write(context_.records.nodes, allocated(*node));
  }
  launches.create_in(batch, request, labels, choose_zone(provider));
  std::optional<StoreError::Kind> refusal;
  try {
    co_await batch.commit_until_known(context_.runtime, context_.store);
  } catch (const TransactionError& error) {
    rethrow_argument_error(error);
    request_.log().debug("Launches not started, a record has changed meanwhile: {}", error.what());
    refusal = error.kind();
  }
  if (refusal == StoreError::Kind::no_node) {
    // It may be the root of all nodes.
    co_await coordination::ensure_path(context_.store, std::string(model::kNodesRoot));
  }
  if (refusal) co_return Step::refused;
  is_pending_ = true;
  const std::vector<RequestedNode> created = co_await launches.created(request.stat.mzxid);
  if (created.empty()) co_return Step::refused;
  auto next = created.begin();
  for (RequestedNode& wanted : request_.nodes()) {
    if (wanted.node_id.empty()) wanted = *next++;
  }
  context_.usage.release(request_.pool().id, request_.id());  // the records count from now on
  co_return Step::done;
}

// The nodes of one request share a zone: the zone of the existing ones, or any.
std::optional<std::string> NodeRequestHandler::choose_zone(driver::Provider& provider) const {
  for (const RequestedNode& wanted : request_.nodes()) {
    const Node* node =
        wanted.node_id.empty() ? nullptr : context_.records.nodes.find(wanted.node_id);
    if (node != nullptr && node->az) return *node->az;
  }
  const std::vector<std::string> zones = provider.offer()->pool(request_.pool().name).zones;
  if (zones.empty()) return std::nullopt;
  return zones[context_.runtime.random.below(zones.size())];
}

// --- resuming launches

Task<Outcome> NodeRequestHandler::resume(ProviderInService provider) {
  // First the request's lock only, so that a launcher that still serves it keeps the nodes' locks.
  const LockSet::Outcome taken = co_await request_.take();
  if (taken.kind != LockSet::Outcome::Kind::acquired) co_return Outcome::locked;
  Task<Outcome> resuming = take_over(std::move(provider));
  co_return co_await under_locks(std::move(resuming));
}

// Assigns an allocated node to each label of the request. Returns whether there is one for each.
bool NodeRequestHandler::find_requested() {
  const NodeRequest* request = request_.record();
  if (request == nullptr || request->state != RequestState::pending) return false;
  const auto is_suitable = [this](const Node& node) {
    return node.provider == request_.pool().provider && node.pool == request_.pool().name &&
           (node.state == NodeState::building || node.state == NodeState::ready);
  };
  std::vector<std::vector<std::string>> candidates(request->node_types.size());
  for (std::size_t i = 0; i < candidates.size(); ++i) {
    for (const std::string& id : context_.records.nodes.allocated_to(request_.id())) {
      const Node& node = *context_.records.nodes.find(id);
      if (is_suitable(node) && node.has_label(request->node_types[i])) candidates[i].push_back(id);
    }
  }
  for (std::string& id : planning::match(candidates)) {
    if (id.empty()) return false;
    request_.add_node(std::move(id));
  }
  return true;
}

Task<Outcome> NodeRequestHandler::take_over(ProviderInService provider) {
  if (!find_requested()) co_return Outcome::done;
  const LockSet::Outcome taken = co_await request_.take();
  if (taken.kind != LockSet::Outcome::Kind::acquired) co_return Outcome::locked;
  const NodeRequest* request = request_.record();
  if (request == nullptr || request->state != RequestState::pending) co_return Outcome::done;
  NodeLaunches launches(context_, std::move(provider), request_.pool(), request_.locks(),
                        request_.log());
  for (const RequestedNode& wanted : request_.nodes()) {
    const Node* node = context_.records.nodes.find(wanted.node_id);
    if (node == nullptr || node->allocated_to != request_.id()) co_return Outcome::done;
    if (node->state == NodeState::ready) continue;
    launches.take_over(*request, *node, wanted.lock);
  }
  request_.log().info("Resuming the interrupted launch of the request's node(s)");
  if (!launches.empty() && co_await launches.begin_again() == Step::refused) {
    co_return Outcome::try_again;
  }
  is_pending_ = true;
  co_return co_await finish(launches);
}

// --- declining

Task<Outcome> NodeRequestHandler::decline(Reason reason) {
  const LockSet::Outcome taken = co_await request_.take();
  if (taken.kind != LockSet::Outcome::Kind::acquired) co_return Outcome::locked;
  Task<Outcome> writing = write_decline(std::move(reason));
  co_return co_await coordination::with_lock(request_.locks(), std::move(writing));
}

Task<Outcome> NodeRequestHandler::write_decline(Reason reason) {
  const NodeRequest* current = request_.record();
  if (current == nullptr) co_return Outcome::done;
  if (current->state != RequestState::requested) co_return Outcome::try_again;
  RecordBatch batch;
  NodeRequest request = *current;
  request_.decline_in(request, reason);
  // If the requestor made the record too large, drops the reasons.
  if (to_record(request).size() > coordination::kMaximumDataSize) request.decline_reasons.clear();
  batch.write(context_.records.requests, request);
  if (!co_await request_.commit_last(std::move(batch), "Not declined"))
    co_return Outcome::try_again;
  request_.report_end(request);
  co_return Outcome::done;
}

}  // namespace nodepool::launcher
