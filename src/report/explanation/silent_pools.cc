#include "report/explanation/silent_pools.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <string_view>
#include <utility>
#include <vector>

#include "planning/decision.h"
#include "report/explanation/own_history.h"

namespace nodepool::report {

namespace {

using model::Component;
using model::Node;
using model::NodeRequest;

// In seconds. A launcher reacts within milliseconds, or a few seconds if it checks hosts first.
// It records a new request within a fraction of a second.
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
  // The cheap tests first: the last one reads all pools.
  if (request.declined(pool.id) || !request.reuse || has_limit(knowledge, request) ||
      !pool.supports(request.node_types) || !has_all(knowledge, pool, request)) {
    return false;
  }
  const std::int64_t concurrency = max_concurrency_of(knowledge.providers, pool.provider_name);
  return !planning::check_eligibility(request, {&pool, concurrency}, knowledge.pools);
}

// The requests that have waited for too long, the longest first. Not those that want a label of an
// earlier request: that may come first.
std::vector<const NodeRequest*> overdue_requests(const ExplanationFacts& knowledge) {
  std::vector<const NodeRequest*> overdue;
  std::set<std::string_view> wanted_before;
  for (const auto& [key, id] : knowledge.requests.waiting()) {
    const NodeRequest& request = *knowledge.requests.find(id);
    const bool is_first = std::ranges::none_of(request.node_types, [&](const std::string& label) {
      return wanted_before.contains(label);
    });
    wanted_before.insert(request.node_types.begin(), request.node_types.end());
    if (is_first && knowledge.now - request.state_time > kReactionTimeout) {
      overdue.push_back(&request);
    }
  }
  std::ranges::sort(overdue, {}, [](const NodeRequest* request) {
    return std::pair(request->state_time, std::string_view(request->id));
  });
  return overdue;
}

// When the request was last ready to be served. The clocks of the requestor and of the store may
// differ: the later one counts.
double waits_since(const NodeRequest& request) {
  return std::max(request.state_time, request.stat.created());
}

// A request of which the launchers of this host have recorded nothing for too long. Returns nullptr
// if there is none, or if it is not known what they record.
const NodeRequest* unrecorded_request(const ExplanationFacts& knowledge) {
  if (!knowledge.own_host || drops_entries(knowledge)) return nullptr;
  const NodeRequest* first = nullptr;
  for (const auto& [key, id] : knowledge.requests.waiting()) {
    const NodeRequest& request = *knowledge.requests.find(id);
    const double since = waits_since(request);
    const bool is_suspect =
        since > knowledge.own_host->last_entry && knowledge.now - since > kReactionTimeout;
    if (is_suspect && (first == nullptr || since < waits_since(*first))) first = &request;
  }
  const bool is_unrecorded = first != nullptr && knowledge.history(first->id).entries.empty();
  return is_unrecorded ? first : nullptr;
}

std::string sign_of_silence(const ExplanationFacts& knowledge, const Component& pool,
                            const NodeRequest& request) {
  return fmt::format(
      "does not respond: the history of {0} has no entry of {1}, which waits for {2}; "
      "check whether its launcher on {0} hangs or is stopped",
      pool.hostname, request_title(knowledge.may_name, request.id),
      duration_text(knowledge.now - waits_since(request)));
}

// By provider and pool: the first node that should have been reclaimed.
using UnreclaimedNodes = std::map<std::pair<std::string_view, std::string_view>, const Node*>;

UnreclaimedNodes unreclaimed_nodes(const ExplanationFacts& knowledge) {
  UnreclaimedNodes unreclaimed;
  for (const auto& [id, node] : knowledge.nodes.all()) {
    const bool is_late = node.state == model::NodeState::used &&
                         knowledge.now - node.state_time > kReactionTimeout &&
                         !knowledge.nodes.is_locked(id);
    if (is_late && node.provider && node.pool) {
      unreclaimed.try_emplace({*node.provider, *node.pool}, &node);
    }
  }
  return unreclaimed;
}

}  // namespace

std::map<std::string, std::string> unresponsive_pools(const ExplanationFacts& knowledge) {
  const std::vector<const NodeRequest*> overdue = overdue_requests(knowledge);
  const UnreclaimedNodes unreclaimed = unreclaimed_nodes(knowledge);
  const NodeRequest* unrecorded = unrecorded_request(knowledge);
  std::map<std::string, std::string> signs;
  for (const Component* pool : knowledge.pools) {
    const auto request = std::ranges::find_if(
        overdue, [&](const NodeRequest* each) { return is_due(knowledge, *pool, *each); });
    if (request != overdue.end()) {
      signs[pool->id] = fmt::format(
          "does not respond: it has not served {} for {}, although it could; check whether "
          "its launcher on {} hangs or is stopped",
          request_title(knowledge.may_name, (*request)->id),
          duration_text(knowledge.now - (*request)->state_time), pool->hostname);
      continue;
    }
    const auto node = unreclaimed.find({pool->provider_name, pool->name});
    if (node != unreclaimed.end()) {
      signs[pool->id] = fmt::format(
          "does not respond: {} was released {} ago and is not reclaimed; check whether its "
          "launcher on {} hangs or is stopped",
          node_title(knowledge.may_name, node->second->id),
          duration_text(knowledge.now - node->second->state_time), pool->hostname);
    } else if (unrecorded != nullptr && writes_own_history(knowledge, *pool)) {
      signs[pool->id] = sign_of_silence(knowledge, *pool, *unrecorded);
    }
  }
  return signs;
}

std::optional<std::string> why_unresponsive(const ExplanationFacts& knowledge,
                                            const Component& pool) {
  const auto sign = knowledge.unresponsive.find(pool.id);
  return sign == knowledge.unresponsive.end() ? std::nullopt : std::optional(sign->second);
}

void explain_unresponsiveness(Statements& to, const ExplanationFacts& knowledge,
                              const Component& pool) {
  if (const auto sign = why_unresponsive(knowledge, pool)) say(to, "silent", *sign);
}

std::string unresponsive_text(const Component& pool) {
  return fmt::format("does not respond: check whether its launcher on {} hangs or is stopped",
                     pool.hostname);
}

}  // namespace nodepool::report
