#include "planning/decision.h"

#include <fmt/format.h>

#include <algorithm>
#include <tuple>

#include "planning/rendezvous.h"

namespace nodepool::planning {

namespace {

using driver::LimitExceeded;
using model::Component;
using model::NodeRequest;
using Code = Reason::Code;
using Kind = Decision::Kind;
using Shortage = Decision::Shortage;
using Until = Decision::Until;

// Label -> number of nodes.
std::map<std::string, std::int64_t> count(const std::vector<std::string>& labels) {
  std::map<std::string, std::int64_t> count;
  for (const std::string& label : labels) ++count[label];
  return count;
}

Decision wait_for_pool(const Component& pool, Code why) {
  return {Kind::wait, Until::registry_changes, {why, pool.name, pool.provider_name}};
}

Decision wait_for_capacity(Reason reason, Shortage shortage = Shortage::none) {
  return {Kind::wait, Until::capacity_is_free, std::move(reason), shortage};
}

Reason about(Code code, LimitExceeded figures) {
  return {.code = code, .figures = std::move(figures)};
}

// Whether the request prefers the provider of `pool`, which is not the one of `other`.
bool prefers(const NodeRequest& request, const Component& pool, const Component& other) {
  return request.provider && pool.provider_name == *request.provider &&
         other.provider_name != *request.provider;
}

bool may_serve(const Component& pool, const NodeRequest& request) {
  return pool.supports(request.node_types) && !request.declined(pool.id);
}

// Waits for another pool if that should serve the request rather than this one. There are many
// pools, and whether one may serve a request takes longest: asks it last.
std::optional<Decision> defer_to_better_pool(const NodeRequest& request, const Component& own,
                                             const std::vector<const Component*>& pools) {
  for (const Component* pool : pools) {
    if (prefers(request, *pool, own) && may_serve(*pool, request)) {
      return wait_for_pool(*pool, Code::prefers_other_provider);
    }
  }
  for (const Component* pool : pools) {
    // It defers to this one if the request prefers this provider: both would wait for ever.
    if (prefers(request, own, *pool)) continue;
    if (pool->priority < own.priority && !pool->paused && may_serve(*pool, request)) {
      return wait_for_pool(*pool, Code::left_to_better_priority);
    }
  }
  if (own.supports(request.node_types)) return std::nullopt;
  for (const Component* pool : pools) {
    if (may_serve(*pool, request)) return wait_for_pool(*pool, Code::left_to_whole_offer);
  }
  return std::nullopt;
}

// Why a pool that does not launch nodes can never serve the request. Returns nothing if it can.
std::optional<Reason> beyond_stock(const NodeRequest& request, const EvaluationInput& input) {
  for (const auto& [label, wanted] : count(request.node_types)) {
    const auto capacity = input.capacity.find(label);
    if (capacity != input.capacity.end() && capacity->second && *capacity->second < wanted) {
      Reason reason{.code = Code::beyond_stock, .subject = label};
      reason.figures.needed = static_cast<double>(wanted);
      reason.figures.limit = static_cast<double>(*capacity->second);
      return reason;
    }
  }
  if (!input.has_all_at_once) {
    return about_labels(Code::labels_not_at_once, request.node_types);
  }
  if (!request.reuse) return Reason{Code::wants_new_nodes};
  return std::nullopt;
}

// The limit of the pool or provider that the request alone exceeds. Returns nothing if there is
// none.
std::optional<Reason> beyond_limits(const EvaluationInput& input) {
  if (auto over = excess(input.pool_limits, {}, input.needs_of_all)) {
    return about(Code::beyond_limit_of_pool, std::move(*over));
  }
  if (!input.provider_limits) return std::nullopt;
  if (auto over = excess(*input.provider_limits, {}, input.needs_of_all)) {
    return about(Code::beyond_limit_of_provider, std::move(*over));
  }
  return std::nullopt;
}

// Why this pool can never serve the request. Returns nothing if it can.
std::optional<Reason> decline_reason(const NodeRequest& request, const Component& own,
                                     const EvaluationInput& input) {
  const auto instances = input.pool_limits.find("instances");
  if (instances != input.pool_limits.end() && instances->second <= 0) {
    return Reason{Code::pool_disabled};
  }
  if (request.node_types.size() > kMostNodes) {
    Reason reason{Code::too_many_nodes};
    reason.figures.needed = static_cast<double>(request.node_types.size());
    reason.figures.limit = static_cast<double>(kMostNodes);
    return reason;
  }
  std::vector<std::string> missing;
  for (const auto& [label, wanted] : count(request.node_types)) {
    if (!own.supports(label)) missing.push_back(label);
  }
  if (!missing.empty()) return about_labels(Code::labels_not_offered, missing);
  if (!input.label_problem.empty()) {
    return Reason{Code::label_unserviceable, input.label_problem};
  }
  if (!input.launches) {
    if (std::optional<Reason> reason = beyond_stock(request, input)) return reason;
  }
  return beyond_limits(input);
}

// Whether a pool that defers to this one may be able to serve what exceeds the limit of its tenant
// here: its nodes may need less, but each is an instance.
bool may_fit_elsewhere(const NodeRequest& request, const EvaluationInput& input) {
  const driver::Resources least({{"instances", static_cast<double>(request.node_types.size())}});
  return input.others_defer && !excess(*input.tenant_limits, {}, least);
}

// The decision about a request that exceeds the limit of its tenant. Returns nothing if it does
// not. A limit may have been lowered for a while, also to 0, so the last pool does not decline.
std::optional<Decision> check_tenant(const NodeRequest& request, const EvaluationInput& input) {
  if (!input.tenant_limits) return std::nullopt;
  if (auto over = excess(*input.tenant_limits, {}, input.needs_of_all)) {
    Reason reason = about(Code::beyond_limit_of_tenant, std::move(*over));
    if (may_fit_elsewhere(request, input)) return Decision{Kind::decline, {}, std::move(reason)};
    return Decision{Kind::wait, Until::tenant_limit_is_raised, std::move(reason)};
  }
  if (auto over = excess(*input.tenant_limits, input.used_by_tenant, input.needs_of_tenant)) {
    Reason reason = about(Code::tenant_full, std::move(*over));
    reason.subject = request.tenant_name.value_or("");
    return Decision{Kind::wait, Until::tenant_takes_less, std::move(reason), Shortage::tenant};
  }
  return std::nullopt;
}

// For a pool that does not launch nodes.
Decision wait_for_free_node(const NodeRequest& request, const EvaluationInput& input) {
  const std::string& label = input.missing.front();
  const auto wanted = std::ranges::count(request.node_types, label);
  const auto missing = std::ranges::count(input.missing, label);
  Reason reason{Code::nodes_not_free, label};
  reason.figures.used = static_cast<double>(wanted - missing);
  reason.figures.needed = static_cast<double>(wanted);
  return wait_for_capacity(std::move(reason));
}

// Why the missing nodes cannot be launched now. Returns nothing if they can.
std::optional<Decision> short_of_capacity(const NodeRequest& request,
                                          const EvaluationInput& input) {
  if (!input.provider_limits) {
    if (input.why_unknown.empty()) {  // not asked yet
      return Decision{Kind::wait, Until::quota_is_known, {Code::quota_not_asked}};
    }
    return wait_for_capacity({Code::quota_unknown, input.why_unknown});
  }
  std::optional<Decision> wait;
  if (auto over = excess(input.pool_limits, input.used_by_pool, input.needs_of_missing)) {
    wait = wait_for_capacity(about(Code::pool_full, std::move(*over)), Shortage::pool);
  } else if (auto beyond =
                 excess(*input.provider_limits, input.used_by_provider, input.needs_of_missing)) {
    wait = wait_for_capacity(about(Code::provider_full, std::move(*beyond)), Shortage::provider);
  } else if (!input.refused.empty()) {
    // Which resource is short is not known: evicting a node may free another one.
    wait = Decision{Kind::wait, Until::refusal_ends, {Code::launch_refused, input.refused}};
  }
  // Requests for idle nodes must not block capacity by waiting.
  if (wait && request.requestor == kMinReadyRequestor) {
    return Decision{Kind::decline, {}, std::move(wait->reason)};
  }
  return wait;
}

}  // namespace

std::optional<Decision> check_eligibility(const NodeRequest& request, const PoolView& own,
                                          const std::vector<const Component*>& pools,
                                          std::string_view expected) {
  if (own.max_concurrency == 0) {
    return Decision{Kind::ignore, {}, {Code::provider_accepts_nothing}};
  }
  if (request.state != model::RequestState::requested) {
    return Decision{Kind::ignore, {}, {Code::not_waiting, std::string(to_string(request.state))}};
  }
  if (request.declined(own.component->id)) {
    if (!expected.empty()) {
      return Decision{
          Kind::wait, Until::registry_changes, {Code::pool_may_be_back, std::string(expected)}};
    }
    // The last pool to decline may have deregistered before it could fail the request.
    if (declined_by_all(request, pools)) {
      return Decision{Kind::fail, {}, {Code::declined_by_all}};
    }
    return Decision{Kind::wait, Until::registry_changes, {Code::declined_by_this_pool}};
  }
  return defer_to_better_pool(request, *own.component, pools);
}

Decision evaluate(const NodeRequest& request, const PoolView& own, const EvaluationInput& input) {
  if (std::optional<Reason> reason = decline_reason(request, *own.component, input)) {
    return {Kind::decline, {}, std::move(*reason)};
  }
  if (std::optional<Decision> decision = check_tenant(request, input)) return std::move(*decision);
  if (!input.behind.empty()) {
    return {Kind::wait, Until::earlier_one_is_served, {Code::comes_after, input.behind}};
  }
  if (!input.missing.empty() && !input.launches) {
    return wait_for_free_node(request, input);
  }
  if (!input.missing.empty()) {
    if (std::optional<Decision> decision = short_of_capacity(request, input)) return *decision;
  }
  const bool is_work = !input.missing.empty() || !input.launches;
  if (is_work && own.max_concurrency > 0 && input.active_launches >= own.max_concurrency) {
    Reason reason{Code::launches_under_way};
    reason.figures.used = static_cast<double>(input.active_launches);
    reason.figures.limit = static_cast<double>(own.max_concurrency);
    return {Kind::wait, Until::launch_ends, std::move(reason)};
  }
  return {Kind::accept, {}, {}};
}

bool others_defer(const NodeRequest& request, const Component& own,
                  const std::vector<const Component*>& pools) {
  return std::ranges::any_of(pools, [&request, &own](const Component* pool) {
    return (pool->priority > own.priority || prefers(request, own, *pool)) &&
           may_serve(*pool, request);
  });
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
        !pool->paused && may_serve(*pool, request)) {
      peers.push_back(pool);
    }
  }
  return peers;
}

}  // namespace nodepool::planning
