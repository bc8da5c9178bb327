#include "launcher/departed_pools.h"

#include "planning/unregistered_pools.h"

namespace nodepool::launcher {

using model::Component;
using model::NodeRequest;

void DepartedPools::left(const Component& pool, TimePoint now) {
  std::erase_if(absent_, [&](const auto& entry) { return !counts(entry.second.since, now); });
  if (forgotten_.erase(pool.id) == 0) absent_[pool.id] = {pool, now};
}

std::string DepartedPools::expected_for(const NodeRequest& request,
                                        const std::vector<const Component*>& registered,
                                        const model::NodeTable& nodes, TimePoint now) const {
  for (const auto& [name, provider] : configured_) {
    std::string pool = planning::unserved_pool_of(*provider, request, registered);
    if (!pool.empty()) return pool;
  }
  for (const auto& [id, absence] : absent_) {
    const Component& pool = absence.pool;
    if (counts(absence.since, now) && pool.supports(request.node_types) && !request.declined(id) &&
        !planning::is_served(pool.provider_name, pool.name, registered)) {
      return pool.provider_name + "-" + pool.name;
    }
  }
  if (!counts(begun_, now)) return {};
  return planning::unserved_pool_with_nodes(request, registered, nodes);
}

}  // namespace nodepool::launcher
