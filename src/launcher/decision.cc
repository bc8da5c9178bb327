#include "launcher/decision.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

namespace nodepool::launcher {

namespace {

using model::Component;
using model::NodeRequest;
using Kind = Decision::Kind;
using Until = Decision::Until;

// Label -> how many nodes of it are wanted.
std::map<std::string, std::int64_t> wanted(const NodeRequest& request) {
  std::map<std::string, std::int64_t> count;
  for (const std::string& label : request.node_types) ++count[label];
  return count;
}

Decision wait_for_pool(const Component& pool, std::string_view why) {
  return {Kind::wait,
          Until::registry_changes,
          {},
          fmt::format("left to pool {} of provider {}: {}", pool.name, pool.provider_name, why)};
}

// Another pool that should serve the request rather than this one, and why.
std::optional<Decision> yield(const NodeRequest& request, const PoolView& own,
                              const std::vector<const Component*>& candidates) {
  for (const Component* pool : candidates) {
    if (request.provider && own.provider != *request.provider &&
        pool->provider_name == *request.provider) {
      return wait_for_pool(*pool, "the request prefers its provider");
    }
  }
  for (const Component* pool : candidates) {
    if (pool->priority < own.component->priority && !pool->paused) {
      return wait_for_pool(*pool, "it has a better priority");
    }
  }
  if (!own.component->supports(request.node_types) && !candidates.empty()) {
    return wait_for_pool(*candidates.front(), "it offers all labels");
  }
  return std::nullopt;
}

// Why this pool can never serve the request; empty if it can.
std::string decline_reason(const NodeRequest& request, const PoolView& own,
                           const std::function<LabelSupply(std::string_view)>& supply) {
  if (own.max_servers && *own.max_servers <= 0) return "pool is disabled by max_servers";
  std::vector<std::string> missing;
  for (const auto& [label, count] : wanted(request)) {
    if (!own.component->supports(label)) missing.push_back(label);
  }
  if (!missing.empty()) {
    return fmt::format("node type(s) [{}] not available", fmt::join(missing, ","));
  }
  for (const auto& [label, count] : wanted(request)) {
    const std::optional<std::int64_t> capacity = supply(label).capacity;
    if (capacity && *capacity < count) {
      return fmt::format("it would exceed quota: {} nodes with label {} wanted, the pool has {}",
                         count, label, *capacity);
    }
  }
  if (!own.has_all_at_once) {
    return fmt::format(
        "it would exceed quota: the pool's nodes cannot carry the labels [{}] at once",
        fmt::join(request.node_types, ","));
  }
  if (!request.reuse && !own.launches_nodes) {
    return "the request wants new nodes, the pool only has existing ones";
  }
  return {};
}

}  // namespace

Decision decide(const NodeRequest& request, const PoolView& own,
                const std::vector<const Component*>& pools,
                const std::function<LabelSupply(std::string_view label)>& supply) {
  if (own.max_concurrency == 0)
    return {Kind::ignore, {}, {}, "the provider's max-concurrency is 0"};
  if (request.state != model::RequestState::requested) {
    return {Kind::ignore, {}, {}, fmt::format("it is {}", to_string(request.state))};
  }
  if (request.declined(own.id)) {
    // The last pool to decline may have gone before it could say so.
    if (declined_by_all(request, pools)) {
      return {Kind::fail, {}, {}, "every registered pool has declined it"};
    }
    return {Kind::wait, Until::registry_changes, {}, "this pool has declined it"};
  }

  std::vector<const Component*> candidates;
  for (const Component* pool : pools) {
    if (pool->supports(request.node_types) && !request.declined(pool->id)) {
      candidates.push_back(pool);
    }
  }
  if (std::optional<Decision> decision = yield(request, own, candidates)) return *decision;

  // Before availability: a pool that has no free node of one label, and lacks another label that
  // nobody offers, declines rather than waits.
  const std::string reason = decline_reason(request, own, supply);
  if (!reason.empty()) return {Kind::decline, {}, {}, reason};

  if (!own.launches_nodes) {
    for (const auto& [label, count] : wanted(request)) {
      const std::int64_t free = supply(label).free;
      if (free < count) {
        return {Kind::wait, Until::label_is_available, label,
                fmt::format("{} of {} nodes with label {} are free", free, count, label)};
      }
    }
  }
  if (own.max_concurrency > 0 && own.active_launches >= own.max_concurrency) {
    return {Kind::wait,
            Until::launch_slot_is_free,
            {},
            fmt::format("{} launches under way, max-concurrency is {}", own.active_launches,
                        own.max_concurrency)};
  }
  return {Kind::accept, {}, {}, {}};
}

bool declined_by_all(const NodeRequest& request, const std::vector<const Component*>& pools) {
  return std::ranges::all_of(
      pools, [&request](const Component* pool) { return request.declined(pool->id); });
}

}  // namespace nodepool::launcher
