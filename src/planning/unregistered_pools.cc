#include "planning/unregistered_pools.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "planning/decision.h"

namespace nodepool::planning {

bool is_served(std::string_view provider, std::string_view pool,
               const std::vector<const model::Component*>& registered) {
  return std::ranges::any_of(registered, [&](const model::Component* component) {
    return component->provider_name == provider && component->name == pool;
  });
}

std::string unserved_pool_of(const driver::ProviderConfig& provider,
                             const model::NodeRequest& request,
                             const std::vector<const model::Component*>& registered) {
  if (provider.max_concurrency() == 0 || request.requestor == kMinReadyRequestor) return {};
  for (const auto& [name, pool] : provider.pools()) {
    const bool is_disabled = pool.max_servers && *pool.max_servers <= 0;
    const bool offers_all = std::ranges::all_of(
        request.node_types,
        [&pool](const std::string& label) { return pool.labels.contains(label); });
    if (offers_all && !is_disabled && !is_served(provider.name(), name, registered)) {
      return provider.name() + "-" + name;
    }
  }
  return {};
}

std::string unserved_pool_with_nodes(const model::NodeRequest& request,
                                     const std::vector<const model::Component*>& registered,
                                     const model::NodeTable& nodes) {
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

}  // namespace nodepool::planning
