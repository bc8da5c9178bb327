#include "launcher/departed_pools.h"

#include <algorithm>

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
  const auto may_serve = [&](const Component& pool) {
    return pool.supports(request.node_types) && !request.declined(pool.id) &&
           !planning::is_served(pool.provider_name, pool.name, registered);
  };
  const auto name_of = [](const Component& pool) { return pool.provider_name + "-" + pool.name; };
  const auto configured = std::ranges::find_if(configured_, may_serve);
  if (configured != configured_.end()) return name_of(*configured);
  for (const auto& [id, absence] : absent_) {
    if (counts(absence.since, now) && may_serve(absence.pool)) return name_of(absence.pool);
  }
  if (!counts(begun_, now)) return {};
  return planning::unserved_pool_with_nodes(request, registered, nodes);
}

}  // namespace nodepool::launcher
