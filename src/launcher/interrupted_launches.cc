#include "launcher/interrupted_launches.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "launcher/peer_deferral.h"

namespace nodepool::launcher {

namespace {

using model::Node;
using model::NodeRequest;
using model::NodeState;

constexpr auto kResumePause = std::chrono::milliseconds(250);

}  // namespace

InterruptedLaunches::InterruptedLaunches(const ServingContext& context,
                                         const planning::PoolIdentity& pool,
                                         const ProviderInService& provider,
                                         RequestsInProgress& requests, async::TaskScope& scope,
                                         IsPreferred is_preferred)
    : context_(context),
      pool_(pool),
      provider_(provider),
      requests_(requests),
      scope_(scope),
      is_preferred_(std::move(is_preferred)) {}

bool InterruptedLaunches::is_own(const Node& node) const {
  return node.provider == pool_.provider && node.pool == pool_.name;
}

// Launchers of one pool may have different configurations, for example during a rollout.
bool InterruptedLaunches::offers_all_labels(const NodeRequest& request) const {
  const auto& pools = provider_.provider->config().pools();
  const auto pool = pools.find(pool_.name);
  return pool != pools.end() &&
         std::ranges::all_of(request.node_types, [pool](const std::string& label) {
           return pool->second.labels.contains(label);
         });
}

// All nodes are unlocked, and none is still `init`. The node of an earlier failed launch does not
// count. A replaced provider resumes nothing: it may have left the launch to its successor, which
// evaluates all pending requests.
bool InterruptedLaunches::is_interrupted(const NodeRequest& request) const {
  if (!provider_.quota->is_in_service()) return false;
  if (request.state != model::RequestState::pending || requests_.contains(request.id)) return false;
  if (!offers_all_labels(request)) return false;
  model::IdSet nodes = context_.records.nodes.allocated_to(request.id);
  std::erase_if(nodes, [this](const std::string& id) {
    return is_discarded(context_.records.nodes.find(id)->state);
  });
  if (nodes.empty() || nodes.size() != request.node_types.size()) return false;
  return std::ranges::all_of(nodes, [this](const std::string& id) {
    const Node& node = *context_.records.nodes.find(id);
    const bool has_begun = node.state == NodeState::building || node.state == NodeState::ready;
    return has_begun && is_own(node) && !context_.records.nodes.is_locked(id);
  });
}

void InterruptedLaunches::evaluate(const NodeRequest& request) {
  if (provider_.provider->launching() == nullptr || !is_interrupted(request)) return;
  if (!pausing_.insert(request.id).second) return;
  scope_.spawn("request " + request.id, resume_later(request.id));
}

void InterruptedLaunches::evaluate(const Node& node) {
  if (!node.allocated_to || !is_own(node)) return;
  const NodeRequest* request = context_.records.requests.find(*node.allocated_to);
  if (request != nullptr) evaluate(*request);
}

Task<> InterruptedLaunches::resume_later(std::string request_id) {
  const NodeRequest* known = context_.records.requests.find(request_id);
  const bool is_preferred = known == nullptr || is_preferred_(*known);
  co_await context_.runtime.clock.sleep_for(is_preferred ? kResumePause : kPeerPause);
  pausing_.erase(request_id);
  const NodeRequest* request = context_.records.requests.find(request_id);
  const bool is_due = request != nullptr && context_.records.ready() && is_interrupted(*request);
  if (is_due) co_await requests_.resume(std::move(request_id), provider_);
}

}  // namespace nodepool::launcher
