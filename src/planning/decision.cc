#include "planning/decision.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <tuple>

#include "planning/rendezvous.h"

namespace nodepool::planning {

namespace {

using driver::Excess;
using model::Component;
using model::NodeRequest;
using Kind = Decision::Kind;
using Shortage = Decision::Shortage;
using Until = Decision::Until;

// The most nodes that one request may want: they are handed out in one transaction, and a store
// takes about a megabyte in one.
constexpr std::size_t kMostNodes = 1000;

// Of a list in a reason.
constexpr std::size_t kMostLabels = 20;

// "a,b,c"; of many the first ones.
std::string listed(const std::vector<std::string>& labels) {
  if (labels.size() <= kMostLabels) return fmt::format("{}", fmt::join(labels, ","));
  const auto first = labels.begin();
  return fmt::format("{},… and {} more", fmt::join(first, first + kMostLabels, ","),
                     labels.size() - kMostLabels);
}

// Label -> how many nodes of it are wanted.
std::map<std::string, std::int64_t> count(const std::vector<std::string>& labels) {
  std::map<std::string, std::int64_t> count;
  for (const std::string& label : labels) ++count[label];
  return count;
}

Decision wait_for_pool(const Component& pool, std::string_view why) {
  return {Kind::wait, Until::registry_changes,
          fmt::format("left to pool {} of provider {}: {}", pool.name, pool.provider_name, why)};
}

Decision wait_for_room(std::string reason, Shortage shortage = Shortage::none) {
  return {Kind::wait, Until::there_is_room, std::move(reason), shortage};
}

// Another pool that should serve the request rather than this one, and why.
std::optional<Decision> yield(const NodeRequest& request, const Component& own,
                              const std::vector<const Component*>& candidates) {
  for (const Component* pool : candidates) {
    if (request.provider && own.provider_name != *request.provider &&
        pool->provider_name == *request.provider) {
      return wait_for_pool(*pool, "the request prefers its provider");
    }
  }
  for (const Component* pool : candidates) {
    if (pool->priority < own.priority && !pool->paused) {
      return wait_for_pool(*pool, "it has a better priority");
    }
  }
  if (!own.supports(request.node_types) && !candidates.empty()) {
    return wait_for_pool(*candidates.front(), "it offers all labels");
  }
  return std::nullopt;
}

std::string would_exceed(std::string_view whose, const Excess& excess) {
  return fmt::format("it would exceed quota: {} needs {} {:g}, the limit is {:g}", whose,
                     excess.resource, excess.needed, excess.limit);
}

// Why a pool that only hands out can never serve the request; empty if it can.
std::string beyond_stock(const NodeRequest& request, const Prospects& prospects) {
  for (const auto& [label, wanted] : count(request.node_types)) {
    const auto capacity = prospects.capacity.find(label);
    if (capacity != prospects.capacity.end() && capacity->second && *capacity->second < wanted) {
      return fmt::format("it would exceed quota: {} nodes with label {} wanted, the pool has {}",
                         wanted, label, *capacity->second);
    }
  }
  if (!prospects.has_all_at_once) {
    return fmt::format(
        "it would exceed quota: the pool's nodes cannot carry the labels [{}] at once",
        listed(request.node_types));
  }
  if (!request.reuse) return "the request wants new nodes, the pool only has existing ones";
  return {};
}

// Why this pool can never serve the request; empty if it can.
std::string decline_reason(const NodeRequest& request, const Component& own,
                           const Prospects& prospects) {
  const auto instances = prospects.pool_limits.find("instances");
  if (instances != prospects.pool_limits.end() && instances->second <= 0) {
    return "pool is disabled by max_servers";
  }
  if (request.node_types.size() > kMostNodes) {
    return fmt::format("{} nodes are wanted at once, {} are the most", request.node_types.size(),
                       kMostNodes);
  }
  std::vector<std::string> missing;
  for (const auto& [label, wanted] : count(request.node_types)) {
    if (!own.supports(label)) missing.push_back(label);
  }
  if (!missing.empty()) {
    return fmt::format("node type(s) [{}] not available", listed(missing));
  }
  if (!prospects.label_problem.empty()) return prospects.label_problem;
  if (!prospects.launches) {
    const std::string reason = beyond_stock(request, prospects);
    if (!reason.empty()) return reason;
  }
  if (const auto over = excess(prospects.pool_limits, {}, prospects.need_of_all)) {
    return would_exceed("in this pool it", *over);
  }
  if (prospects.tenant_limits) {
    if (const auto over = excess(*prospects.tenant_limits, {}, prospects.need_of_all)) {
      return would_exceed("for its tenant it", *over);
    }
  }
  if (!prospects.provider_limits) return {};
  if (const auto over = excess(*prospects.provider_limits, {}, prospects.need_of_all)) {
    return would_exceed("in this provider it", *over);
  }
  return {};
}

// What a pool that only hands out lacks now.
Decision wait_for_free_node(const NodeRequest& request, const Prospects& prospects) {
  const std::string& label = prospects.missing.front();
  const auto wanted = std::ranges::count(request.node_types, label);
  const auto missing = std::ranges::count(prospects.missing, label);
  return wait_for_room(
      fmt::format("{} of {} nodes with label {} are free", wanted - missing, wanted, label));
}

// Whether the missing nodes may be launched now; if not, why.
std::optional<Decision> short_of_room(const NodeRequest& request, const Prospects& prospects) {
  if (!prospects.provider_limits) {
    if (prospects.why_unknown.empty()) {  // not asked yet: there may be room
      return Decision{Kind::wait, Until::quota_is_known,
                      "the quota of the provider is not known yet"};
    }
    return wait_for_room("the quota of the provider is not known: " + prospects.why_unknown);
  }
  std::string reason;
  auto shortage = Shortage::provider;
  if (prospects.refused) {
    reason = "the provider has refused to launch another node";
  } else if (const auto over =
                 excess(prospects.pool_limits, prospects.used_by_pool, prospects.need_of_missing)) {
    reason = "the pool is full: " + to_string(*over);
    shortage = Shortage::pool;
  } else if (const auto beyond = excess(*prospects.provider_limits, prospects.used_by_provider,
                                        prospects.need_of_missing)) {
    reason = "the provider is full: " + to_string(*beyond);
  }
  if (reason.empty()) return std::nullopt;
  // Nobody waits for these: what they are for is better served by not taking the room.
  if (request.requestor == kMinReadyRequestor) return Decision{Kind::decline, {}, reason};
  return wait_for_room(reason, shortage);
}

}  // namespace

std::string_view to_string(Until until) {
  switch (until) {
    case Until::nothing:
      return "the request changes";
    case Until::registry_changes:
      return "a pool goes, pauses or declines";
    case Until::quota_is_known:
      return "the provider has answered";
    case Until::there_is_room:
      return "a node is free or gone";
    case Until::tenant_takes_less:
      return "the tenant gives nodes back";
    case Until::earlier_one_is_served:
      return "that one is served, or goes";
    case Until::launch_ends:
      return "a launch has ended";
  }
  return {};
}

std::optional<Decision> screen(const NodeRequest& request, const PoolView& own,
                               const std::vector<const Component*>& pools,
                               std::string_view expected) {
  if (own.max_concurrency == 0) {
    return Decision{Kind::ignore, {}, "the provider's max-concurrency is 0"};
  }
  if (request.state != model::RequestState::requested) {
    return Decision{Kind::ignore, {}, fmt::format("it is {}", to_string(request.state))};
  }
  if (request.declined(own.component->id)) {
    if (!expected.empty()) {
      return Decision{Kind::wait, Until::registry_changes,
                      fmt::format("pool {}, which is gone, may be back", expected)};
    }
    // The last pool to decline may have gone before it could say so.
    if (declined_by_all(request, pools)) {
      return Decision{Kind::fail, {}, "every registered pool has declined it"};
    }
    return Decision{Kind::wait, Until::registry_changes, "this pool has declined it"};
  }
  std::vector<const Component*> candidates;
  for (const Component* pool : pools) {
    if (pool->supports(request.node_types) && !request.declined(pool->id)) {
      candidates.push_back(pool);
    }
  }
  return yield(request, *own.component, candidates);
}

Decision judge(const NodeRequest& request, const PoolView& own, const Prospects& prospects) {
  const std::string reason = decline_reason(request, *own.component, prospects);
  if (!reason.empty()) return {Kind::decline, {}, reason};

  if (prospects.tenant_limits) {
    if (const auto over =
            excess(*prospects.tenant_limits, prospects.used_by_tenant, prospects.need_of_tenant)) {
      return {Kind::wait, Until::tenant_takes_less,
              fmt::format("tenant {} has reached its limit: {}", request.tenant_name.value_or(""),
                          to_string(*over)),
              Shortage::tenant};
    }
  }
  if (!prospects.behind.empty()) {
    return {Kind::wait, Until::earlier_one_is_served,
            fmt::format("request {} has waited long and comes first", prospects.behind),
            Shortage::none, prospects.behind};
  }
  if (!prospects.missing.empty() && !prospects.launches) {
    return wait_for_free_node(request, prospects);
  }
  if (!prospects.missing.empty()) {
    if (std::optional<Decision> decision = short_of_room(request, prospects)) return *decision;
  }
  const bool is_work = !prospects.missing.empty() || !prospects.launches;
  if (is_work && own.max_concurrency > 0 && prospects.active_launches >= own.max_concurrency) {
    return {Kind::wait, Until::launch_ends,
            fmt::format("{} launches under way, max-concurrency is {}", prospects.active_launches,
                        own.max_concurrency)};
  }
  return {Kind::accept, {}, {}};
}

bool declined_by_all(const NodeRequest& request, const std::vector<const Component*>& pools) {
  return !pools.empty() && std::ranges::all_of(pools, [&request](const Component* pool) {
    return request.declined(pool->id);
  });
}

const std::string& preferred(std::string_view subject, const std::vector<const Component*>& pools) {
  const auto weight = [subject](const Component* pool) {
    return std::tuple(rendezvous_weight(pool->id, subject), std::string_view(pool->id));
  };
  return (*std::ranges::max_element(pools, {}, weight))->id;
}

std::vector<const Component*> peers(const NodeRequest& request, const Component& own,
                                    const std::vector<const Component*>& pools) {
  std::vector<const Component*> peers{&own};
  for (const Component* pool : pools) {
    if (pool->id != own.id && pool->provider_name == own.provider_name && pool->name == own.name &&
        !pool->paused && !request.declined(pool->id) && pool->supports(request.node_types)) {
      peers.push_back(pool);
    }
  }
  return peers;
}

}  // namespace nodepool::planning
