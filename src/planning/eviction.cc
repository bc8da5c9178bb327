#include "planning/eviction.h"

#include <algorithm>
#include <set>
#include <string_view>
#include <utility>

namespace nodepool::planning {

namespace {

using model::Node;
using Shortage = Decision::Shortage;
using Pools = std::set<std::pair<std::string, std::string>>;  // provider, name

// In seconds: how long a deletion is waited for, and how long a request waits before idle nodes of
// other pools are evicted.
constexpr double kEvictionDelay = 300;

// In seconds: how long a request is left to other launchers before an idle node is evicted for it.
// They may leave it to each other for a second.
constexpr double kElsewhereDelay = 2;

Eviction reevaluate_in(double seconds) {
  return {.reevaluate_in = std::min(seconds, kEvictionDelay)};
}

// The pools whose nodes count for the limit: of all providers for a tenant's. Includes unregistered
// pools of providers with a registered pool, which can delete their nodes.
Pools pools_at_the_limit(Shortage shortage, const EvictionFacts& facts) {
  std::set<std::string> providers{facts.pool.provider};
  for (const model::Component* pool : facts.pools) {
    if (shortage == Shortage::tenant) providers.insert(pool->provider_name);
  }
  Pools pools;
  for (auto& pool : facts.usage.pools()) {
    if (providers.contains(pool.first)) pools.insert(std::move(pool));
  }
  return pools;
}

bool is_evictable(const Node& node, const CapacityWanted& wanted, const EvictionFacts& facts) {
  const bool counts =
      wanted.shortage != Shortage::tenant ||
      (node.tenant_name == wanted.tenant && !ResourceUsage::of_tenant(node).empty());
  const bool is_wanted = std::ranges::find(wanted.plan, node.id) != wanted.plan.end();
  return counts && !is_wanted && !facts.stock.is_reserved(node.id);
}

std::optional<std::string> oldest(const CapacityWanted& wanted, const EvictionFacts& facts,
                                  const Pools& pools) {
  const Node* oldest = nullptr;
  for (const auto& [provider, pool] : pools) {
    for (const std::string& id : facts.nodes.free(provider, pool)) {
      const Node* node = facts.nodes.find(id);
      if (!is_evictable(*node, wanted, facts)) continue;
      if (oldest == nullptr || node->state_time < oldest->state_time) oldest = node;
    }
  }
  return oldest == nullptr ? std::nullopt : std::optional(oldest->id);
}

}  // namespace

bool may_be_served_elsewhere(const model::NodeRequest& request,
                             const std::vector<const model::Component*>& pools,
                             const std::set<std::string>& own_pools) {
  return std::ranges::any_of(pools, [&](const model::Component* pool) {
    return !own_pools.contains(pool->id) && !pool->paused && pool->supports(request.node_types) &&
           !request.declined(pool->id);
  });
}

Eviction choose_eviction(const CapacityWanted& wanted, const EvictionFacts& facts) {
  if (wanted.shortage == Shortage::none) return {};
  // A later time is from before the clock was set back: that deletion may have begun long ago.
  const double until = facts.now + kEvictionDelay;
  const double latest = facts.deletions.latest(wanted.shortage, facts.pool, wanted.tenant, until);
  const double left = latest + kEvictionDelay - facts.now;
  if (left > 0) return reevaluate_in(left);
  if (auto own = oldest(wanted, facts, {{facts.pool.provider, facts.pool.name}})) {
    const double early = wanted.since + kElsewhereDelay - facts.now;
    if (wanted.may_be_served_elsewhere && early > 0) return reevaluate_in(early);
    return {std::move(own)};
  }
  if (wanted.shortage == Shortage::pool) return {};
  auto other = oldest(wanted, facts, pools_at_the_limit(wanted.shortage, facts));
  const double delay = wanted.since + kEvictionDelay - facts.now;
  if (other && delay > 0) return reevaluate_in(delay);
  return {std::move(other)};
}

}  // namespace nodepool::planning
