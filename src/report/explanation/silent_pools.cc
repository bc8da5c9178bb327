#include "report/explanation/silent_pools.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "planning/decision.h"

namespace nodepool::report {

namespace {

using model::Component;
using model::Node;
using model::NodeRequest;

// In seconds. A launcher reacts within milliseconds, or a few seconds if it checks hosts first.
constexpr double kReactionTimeout = 15;

// Whether there is a free node for each label.
bool has_all(const ExplanationFacts& knowledge, const Component& pool, const NodeRequest& request) {
  std::map<std::string_view, std::size_t> wanted;
  for (const std::string& label : request.node_types) ++wanted[label];
  return std::ranges::all_of(wanted, [&](const auto& entry) {
    const std::string label(entry.first);
    return knowledge.nodes.free(pool.provider_name, pool.name, label).size() >= entry.second;
  });
}

bool has_limit(const ExplanationFacts& knowledge, const NodeRequest& request) {
  return request.tenant_name && knowledge.config.tenant_limits.contains(*request.tenant_name);
}

// Whether a working launcher would have served the request at once. False if that depends on facts
// that only the launcher has: quotas, limits, and the order of requests.
bool is_due(const ExplanationFacts& knowledge, const Component& pool, const NodeRequest& request) {
  if (request.declined(pool.id)) return false;
  const auto provider = knowledge.providers.find(pool.provider_name);
  const bool is_known = provider != knowledge.providers.end() && provider->second.config;
  const std::int64_t concurrency = is_known ? provider->second.config->max_concurrency() : -1;
  if (planning::check_eligibility(request, {&pool, concurrency}, knowledge.pools)) return false;
  return pool.supports(request.node_types) && request.reuse && !has_limit(knowledge, request) &&
         has_all(knowledge, pool, request);
}

// The request that has waited longest, of those that the pool could serve at once.
const NodeRequest* unserved_request(const ExplanationFacts& knowledge, const Component& pool) {
  const NodeRequest* longest = nullptr;
  std::set<std::string_view> wanted_before;  // earlier requests may come first
  for (const auto& [key, id] : knowledge.requests.waiting()) {
    const NodeRequest& request = *knowledge.requests.find(id);
    const bool is_first = std::ranges::none_of(request.node_types, [&](const std::string& label) {
      return wanted_before.contains(label);
    });
    wanted_before.insert(request.node_types.begin(), request.node_types.end());
    const bool counts = is_first && knowledge.now - request.state_time > kReactionTimeout &&
                        (longest == nullptr || request.state_time < longest->state_time);
    if (counts && is_due(knowledge, pool, request)) longest = &request;
  }
  return longest;
}

const Node* unreclaimed_node(const ExplanationFacts& knowledge, const Component& pool) {
  for (const std::string& id : knowledge.nodes.of_provider(pool.provider_name)) {
    const Node& node = *knowledge.nodes.find(id);
    if (node.pool == pool.name && node.state == model::NodeState::used &&
        !knowledge.nodes.is_locked(id) && knowledge.now - node.state_time > kReactionTimeout) {
      return &node;
    }
  }
  return nullptr;
}

}  // namespace

std::optional<std::string> why_unresponsive(const ExplanationFacts& knowledge,
                                            const Component& pool) {
  if (const NodeRequest* request = unserved_request(knowledge, pool)) {
    return fmt::format(
        "does not respond: it has not served request {} for {}, although it could; check whether "
        "its "
        "launcher on {} hangs or is stopped",
        request->id, duration_text(knowledge.now - request->state_time), pool.hostname);
  }
  if (const Node* node = unreclaimed_node(knowledge, pool)) {
    return fmt::format(
        "does not respond: node {} was released {} ago and is not reclaimed; check whether its "
        "launcher on {} hangs or is stopped",
        node->id, duration_text(knowledge.now - node->state_time), pool.hostname);
  }
  return std::nullopt;
}

}  // namespace nodepool::report
