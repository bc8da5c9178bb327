#include "planning/verdict.h"

#include <utility>

namespace nodepool::planning {

namespace {

using driver::Resources;
using model::Node;
using model::NodeRequest;
using Order = WaitingLine::Order;

const driver::PoolConfig& pool_config(const Facts& facts) {
  return facts.provider.config().pools().at(facts.own.name);
}

// Several launchers that serve different requests of a pool take different nodes.
std::vector<std::string> choose_nodes(const NodeRequest& request, const Facts& facts) {
  const auto equals = peers(request, facts.own, facts.pools);
  return facts.stock.choose(request, [&](const std::string& id) {
    return equals.size() == 1 || preferred(id, equals) == facts.own.id;
  });
}

// The first request that waits for what this one would take, and has done so for long.
std::string who_comes_first(const NodeRequest& request, const Facts& facts, bool takes_room) {
  std::optional<Order> first;
  if (takes_room) {
    first = facts.line.first_patient(request.order(), facts.now, nullptr);
  } else {
    const auto labels = facts.stock.rivals(request.node_types);
    first = facts.line.first_patient(request.order(), facts.now, &labels);
  }
  if (!first) return {};
  const auto waiting = facts.requests.waiting().find(*first);
  return waiting == facts.requests.waiting().end() ? std::string() : waiting->second;
}

// What each of the wanted nodes takes, and whether the pool can have it at all.
void add_needs(Prospects& prospects, const NodeRequest& request, const Facts& facts,
               const std::vector<std::string>& plan) {
  const std::string& pool = facts.own.name;
  for (std::size_t i = 0; i < plan.size(); ++i) {
    const std::string& label = request.node_types[i];
    if (!pool_config(facts).labels.contains(label)) continue;  // declined for that
    if (prospects.label_problem.empty()) {
      prospects.label_problem = facts.provider.label_problem(pool, label).value_or("");
    }
    const Resources need = facts.provider.need(pool, label);
    prospects.need_of_all += need;
    const Node* node = plan[i].empty() ? nullptr : facts.nodes.find(plan[i]);
    const bool counts_already = node != nullptr && request.tenant_name &&
                                node->tenant_name == request.tenant_name &&
                                !Usage::of_tenant(*node).empty();
    if (!counts_already) prospects.need_of_tenant += need;
    if (plan[i].empty()) {
      prospects.missing.push_back(label);
      prospects.need_of_missing += need;
    }
    if (!prospects.launches) prospects.capacity.try_emplace(label, facts.stock.capacity(label));
  }
}

Prospects prospects_of(const NodeRequest& request, const Facts& facts,
                       const std::vector<std::string>& plan) {
  Prospects prospects;
  prospects.launches = facts.provider.launches();
  add_needs(prospects, request, facts, plan);
  if (!prospects.launches) {
    prospects.has_all_at_once = facts.stock.has_all_at_once(request.node_types);
  }
  const driver::PoolConfig& pool = pool_config(facts);
  const std::string& provider = facts.own.provider_name;
  prospects.pool_limits = pool.limits;
  prospects.used_by_pool = facts.usage.of_pool(provider, facts.own.name);
  prospects.used_by_provider = facts.usage.of_provider(provider);
  if (prospects.launches) {
    prospects.provider_limits = facts.quota.available;
    prospects.why_unknown = facts.quota.why_unknown;
  }
  // Without an answer nothing is known of the provider at all, not even what a label takes.
  const bool has_answered = prospects.provider_limits.has_value();
  if (!prospects.launches || (pool.ignore_provider_quota && has_answered)) {
    prospects.provider_limits.emplace();
  }
  prospects.refused = facts.quota.is_refusing;
  const auto tenant = facts.tenant_limits.find(request.tenant_name.value_or(""));
  if (tenant != facts.tenant_limits.end()) {
    prospects.tenant_limits.emplace(tenant->second.limits.begin(), tenant->second.limits.end());
    prospects.used_by_tenant = facts.usage.of_tenant(tenant->first);
  }
  prospects.active_launches = prospects.launches ? facts.quota.launches_under_way
                                                 : static_cast<std::int64_t>(facts.in_hand);
  prospects.behind =
      who_comes_first(request, facts, prospects.launches && !prospects.missing.empty());
  return prospects;
}

}  // namespace

Verdict decide(const NodeRequest& request, const Facts& facts) {
  const PoolView view{&facts.own, facts.provider.config().max_concurrency()};
  const std::string expected =
      declined_by_all(request, facts.pools) ? facts.expected_pool(request) : std::string();
  if (auto screened = screen(request, view, facts.pools, expected)) return {std::move(*screened)};
  Verdict verdict;
  verdict.claim.plan = choose_nodes(request, facts);
  Prospects prospects = prospects_of(request, facts, verdict.claim.plan);
  verdict.decision = judge(request, view, prospects);
  if (verdict.decision.kind != Decision::Kind::accept) return verdict;
  if (prospects.launches) {
    verdict.claim.launches = static_cast<std::int64_t>(prospects.missing.size());
    verdict.claim.of_provider = std::move(prospects.need_of_missing);
    verdict.claim.of_tenant = std::move(prospects.need_of_tenant);
  }
  verdict.bounds = {prospects.provider_limits.value_or(driver::Limits()),
                    std::move(prospects.pool_limits),
                    prospects.tenant_limits.value_or(driver::Limits())};
  return verdict;
}

}  // namespace nodepool::planning
