#include "launcher/absent_pools.h"

#include <algorithm>
#include <set>

namespace nodepool::launcher {

namespace {

using model::Component;
using model::Node;
using model::NodeRequest;

// Whether the pool is served by somebody: the one that has left is back, or not needed.
bool is_served(const std::string& provider, const std::string& pool,
               const std::vector<const Component*>& registered) {
  return std::ranges::any_of(registered, [&](const Component* component) {
    return component->provider_name == provider && component->name == pool;
  });
}

}  // namespace

void AbsentPools::left(const Component& pool, TimePoint now) {
  std::erase_if(absent_, [&](const auto& entry) { return !counts(entry.second.since, now); });
  if (dismissed_.erase(pool.id) == 0) absent_[pool.id] = {pool, now};
}

std::string AbsentPools::expected_for(const NodeRequest& request,
                                      const std::vector<const Component*>& registered,
                                      const model::NodeTable& nodes, TimePoint now) const {
  for (const auto& [id, absence] : absent_) {
    const Component& pool = absence.pool;
    if (counts(absence.since, now) && pool.supports(request.node_types) && !request.declined(id) &&
        !is_served(pool.provider_name, pool.name, registered)) {
      return pool.provider_name + "-" + pool.name;
    }
  }
  return counts(begun_, now) ? shown_by_nodes(request, registered, nodes) : std::string();
}

// A pool that has nodes with all the labels, and is not registered.
std::string AbsentPools::shown_by_nodes(const NodeRequest& request,
                                        const std::vector<const Component*>& registered,
                                        const model::NodeTable& nodes) const {
  std::map<std::pair<std::string, std::string>, std::set<std::string>> labels;  // by provider, pool
  for (const auto& [id, node] : nodes.all()) {
    const bool has_declined = node.launcher && request.declined(*node.launcher);
    if (!node.provider || !node.pool || has_declined) continue;
    labels[{*node.provider, *node.pool}].insert(node.type.begin(), node.type.end());
  }
  for (const auto& [pool, offered] : labels) {
    const bool offers_all = std::ranges::all_of(
        request.node_types,
        [&offered](const std::string& label) { return offered.contains(label); });
    if (offers_all && !is_served(pool.first, pool.second, registered)) {
      return pool.first + "-" + pool.second;
    }
  }
  return {};
}

}  // namespace nodepool::launcher
