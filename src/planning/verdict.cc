#include "planning/verdict.h"

#include <algorithm>
#include <utility>

namespace nodepool::planning {

namespace {

using driver::Resources;
using model::Node;
using model::NodeRequest;
using ServiceKey = RequestQueue::ServiceKey;

const driver::PoolConfig& pool_config(const Facts& facts) {
  return facts.provider.pools().at(facts.own.name);
}

// Launchers of the same pool prefer different nodes.
std::vector<std::string> choose_nodes(const NodeRequest& request, const Facts& facts) {
  if (request.node_types.size() > kMostNodes) {  // will be declined
    return std::vector<std::string>(request.node_types.size());
  }
  const auto equals = peers(request, facts.own, facts.pools);
  return facts.stock.choose(request, [&](const std::string& id) {
    return equals.size() == 1 || preferred(id, equals) == facts.own.id;
  });
}

// The id of the first starved request that competes with this one; empty: none.
std::string starved_request(const NodeRequest& request, const Facts& facts,
                            const EvaluationInput& input) {
  std::optional<ServiceKey> first;
  if (input.launches && !input.missing.empty()) {
    first = facts.queue.first_starved(request.service_key(), nullptr);
    const auto elsewhere = facts.starved.first_before(
        facts.own.provider_name, input.needs_of_missing, request.service_key());
    if (elsewhere && (!first || *elsewhere < *first)) first = elsewhere;
  } else {
    const auto labels = facts.stock.rivals(request.node_types);
    first = facts.queue.first_starved(request.service_key(), &labels);
  }
  if (!first) return {};
  const auto waiting = facts.requests.waiting().find(*first);
  return waiting == facts.requests.waiting().end() ? std::string() : waiting->second;
}

// Adds the needs of the requested nodes, and the problems of their labels.
void add_needs(EvaluationInput& input, const NodeRequest& request, const Facts& facts,
               const std::vector<std::string>& plan) {
  for (std::size_t i = 0; i < plan.size(); ++i) {
    const std::string& label = request.node_types[i];
    if (!pool_config(facts).labels.contains(label)) continue;  // will be declined
    const driver::LabelOffer& offer = facts.offer->label(facts.own.name, label);
    if (input.label_problem.empty()) {
      input.label_problem = offer.problem;
      input.is_problem_on_record = offer.is_problem_on_record;
    }
    const Resources& need = offer.need;
    input.needs_of_all += need;
    const Node* node = plan[i].empty() ? nullptr : facts.nodes.find(plan[i]);
    const bool counts_already = node != nullptr && request.tenant_name &&
                                node->tenant_name == request.tenant_name &&
                                !ResourceUsage::of_tenant(*node).empty();
    if (!counts_already) {
      const auto recorded = node == nullptr ? std::nullopt : Resources::parse(node->resources);
      input.needs_of_tenant += recorded.value_or(need);
    }
    if (plan[i].empty()) {
      input.missing.push_back(label);
      input.needs_of_missing += need;
    }
    if (!input.launches) input.capacity.try_emplace(label, facts.stock.capacity(label));
  }
}

EvaluationInput evaluation_input_of(const NodeRequest& request, const Facts& facts,
                                    const std::vector<std::string>& plan) {
  EvaluationInput input;
  input.launches = facts.offer->launches;
  add_needs(input, request, facts, plan);
  if (!input.launches) {
    input.has_all_at_once = facts.stock.has_all_at_once(request.node_types);
  }
  const driver::PoolConfig& pool = pool_config(facts);
  const std::string& provider = facts.own.provider_name;
  input.pool_limits = pool.limits;
  input.used_by_pool = facts.usage.of_pool(provider, facts.own.name);
  input.used_by_provider = facts.usage.of_provider(provider);
  if (input.launches) {
    input.provider_limits = facts.quota.available;
    input.why_unknown = facts.quota.why_unknown;
  }
  // Without a response not even the needs of labels are known.
  const bool has_responded = input.provider_limits.has_value();
  if (!input.launches || (pool.ignore_provider_quota && has_responded)) {
    input.provider_limits.emplace();
  }
  // Limits from before an outage say nothing about now, and a launch would fail.
  if (!input.why_unknown.empty()) input.provider_limits.reset();
  const auto refused = std::ranges::find_if(input.missing, [&facts](const std::string& label) {
    return facts.quota.refused.contains({facts.own.name, label});
  });
  if (refused != input.missing.end()) input.refused = *refused;
  const auto tenant = facts.tenant_limits.find(request.tenant_name.value_or(""));
  if (tenant != facts.tenant_limits.end()) {
    input.tenant_limits.emplace(tenant->second.limits.begin(), tenant->second.limits.end());
    input.used_by_tenant = facts.usage.of_tenant(tenant->first);
    input.others_defer = others_defer(request, facts.own, facts.pools);
  }
  input.active_launches = input.launches ? facts.quota.launches_under_way
                                         : static_cast<std::int64_t>(facts.requests_in_progress);
  input.behind = starved_request(request, facts, input);
  return input;
}

// A decline is final, so it must not rest on what the cloud has told long ago: others may have
// freed their capacity since, or the operator may have added the flavor. During an outage the pool
// counts as full, so that another one serves the request.
std::optional<Decision> wait_for_news(const Decision& decision, const EvaluationInput& input,
                                      const QuotaFacts& quota) {
  using Code = Reason::Code;
  using Until = Decision::Until;
  const bool rests_on_cloud =
      decision.reason.code == Code::beyond_limit_of_provider ||
      (decision.reason.code == Code::beyond_limit_of_tenant &&
       decision.kind == Decision::Kind::decline) ||
      (decision.reason.code == Code::label_unserviceable && !input.is_problem_on_record);
  if (!quota.is_stale || !rests_on_cloud) return std::nullopt;
  if (quota.why_unknown.empty()) {
    return Decision{Decision::Kind::wait, Until::quota_is_known, {Code::quota_not_asked}};
  }
  return Decision{
      Decision::Kind::wait, Until::capacity_is_free, {Code::quota_unknown, quota.why_unknown}};
}

}  // namespace

Verdict decide(const NodeRequest& request, const Facts& facts) {
  const PoolView view{&facts.own, facts.provider.max_concurrency()};
  const std::string expected =
      declined_by_all(request, facts.pools) ? facts.expected_pool(request) : std::string();
  if (auto ineligible = check_eligibility(request, view, facts.pools, expected))
    return {std::move(*ineligible)};
  Verdict verdict;
  verdict.reservation.plan = choose_nodes(request, facts);
  EvaluationInput input = evaluation_input_of(request, facts, verdict.reservation.plan);
  verdict.decision = evaluate(request, view, input);
  if (auto wait = wait_for_news(verdict.decision, input, facts.quota))
    verdict.decision = std::move(*wait);
  if (verdict.decision.kind != Decision::Kind::accept) return verdict;
  if (input.launches) {
    verdict.reservation.launches = static_cast<std::int64_t>(input.missing.size());
    verdict.reservation.of_provider = std::move(input.needs_of_missing);
    verdict.reservation.of_tenant = std::move(input.needs_of_tenant);
  }
  verdict.bounds = {input.provider_limits.value_or(driver::Limits()), std::move(input.pool_limits),
                    input.tenant_limits.value_or(driver::Limits())};
  return verdict;
}

}  // namespace nodepool::planning
