#include "main/page_sources.h"

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "driver/driver_metrics.h"
#include "planning/decision_text.h"
#include "telemetry/cloud_call_metrics.h"

namespace nodepool {

namespace {

using page::Amount;
using page::CallFacts;
using page::ProviderView;

// One entry for each resource that is limited or used.
std::vector<Amount> amounts(const driver::Limits& limits, const driver::Resources& used) {
  std::map<std::string, Amount> amounts;
  for (const auto& [resource, amount] : used.amounts()) {
    amounts[resource] = {.resource = resource, .used = amount};
  }
  for (const auto& [resource, limit] : limits) {
    amounts.try_emplace(resource, resource).first->second.limit = limit;
  }
  std::vector<Amount> list;
  list.reserve(amounts.size());
  for (auto& [resource, amount] : amounts) list.push_back(std::move(amount));
  return list;
}

page::PoolFacts pool_facts(const launcher::Launcher& launcher, const std::string& provider,
                           const driver::PoolConfig& pool, const driver::PoolOffer& offer) {
  page::PoolFacts facts{.name = pool.name};
  facts.amounts = amounts(pool.limits, launcher.usage().of_pool(provider, pool.name));
  for (const auto& [label, offered] : offer.labels) {
    if (!offered.problem.empty()) facts.problems.push_back(label + ": " + offered.problem);
  }
  return facts;
}

ProviderView provider_facts(const launcher::Launcher& launcher,
                            const launcher::ProviderInService& service) {
  const driver::Provider& provider = *service.provider;
  const std::shared_ptr<const driver::Offer> offer = provider.offer();
  ProviderView facts{.name = provider.config().name(),
                     .launches_machines = offer->launches,
                     .max_concurrency = provider.config().max_concurrency()};
  driver::Limits limits;
  if (offer->launches) {
    const planning::QuotaFacts quota = service.quota->facts();
    facts.launches = quota.launches_under_way;
    facts.is_refusing = !quota.refused.empty();
    facts.quota_failure = quota.why_unknown;
    if (quota.available) limits = *quota.available;
  }
  facts.amounts = amounts(limits, launcher.usage().of_provider(facts.name));
  for (const auto& [name, pool] : provider.config().pools()) {
    facts.pools.push_back(pool_facts(launcher, facts.name, pool, offer->pool(name)));
  }
  return facts;
}

// Sums of a metric for each provider, by the value of one of its labels.
using Sums = std::map<std::string, std::map<std::string, CallFacts>>;

Sums sums_of(const telemetry::MetricsRegistry& registry, const telemetry::Metric& metric,
             std::string_view label) {
  Sums sums;
  const std::size_t provider = telemetry::label_index(metric, "provider");
  const std::size_t name = telemetry::label_index(metric, label);
  registry.visit(metric, [&](const telemetry::Series& series, double value, std::uint64_t count) {
    CallFacts& sum = sums[series.values.at(provider)][series.values.at(name)];
    sum.name = series.values.at(name);
    const bool is_counter = metric.kind == telemetry::Metric::Kind::counter;
    sum.count += is_counter ? static_cast<std::uint64_t>(value) : count;
    if (!is_counter) sum.seconds += value;
  });
  return sums;
}

std::vector<CallFacts> of_provider(const Sums& sums, const std::string& provider) {
  std::vector<CallFacts> list;
  const auto found = sums.find(provider);
  if (found == sums.end()) return list;
  for (const auto& [name, sum] : found->second) list.push_back(sum);
  return list;
}

// Whether the status is an error: "0" (no response), "4xx" or "5xx".
bool is_error(const CallFacts& response) {
  return response.name == "0" || response.name >= "4";
}

std::vector<ProviderView> all_providers(const launcher::Launcher& launcher,
                                        const telemetry::MetricsRegistry& registry) {
  const Sums calls = sums_of(registry, telemetry::kCloudCalls, "call");
  const Sums responses = sums_of(registry, telemetry::kCloudResponses, "status");
  const Sums launches = sums_of(registry, driver::kLaunches, "result");
  std::vector<ProviderView> list;
  for (const auto& [name, service] : launcher.providers()) {
    ProviderView& facts = list.emplace_back(provider_facts(launcher, service));
    facts.calls = of_provider(calls, name);
    facts.errors = of_provider(responses, name);
    std::erase_if(facts.errors, [](const CallFacts& response) { return !is_error(response); });
    facts.launched = of_provider(launches, name);
  }
  return list;
}

// Without the store, no record can tell its problem.
std::vector<page::PageProblem> page_problems(SiteProblems& problems, std::string of_store) {
  std::vector<page::PageProblem> list;
  if (!of_store.empty()) {
    list.push_back({.level = std::string(to_string(report::StatusLevel::critical)),
                    .text = std::move(of_store),
                    .kind = {},
                    .subject = {}});
  }
  for (const report::StatusProblem& problem : problems.list()) {
    list.push_back({.level = std::string(to_string(problem.level)),
                    .text = problem.text,
                    .kind = problem.kind,
                    .subject = problem.subject});
  }
  return list;
}

std::vector<page::ConfiguredImage> configured_images(const config::Config& config) {
  std::vector<page::ConfiguredImage> list;
  list.reserve(config.diskimages.size());
  for (const auto& [name, image] : config.diskimages) list.push_back({name, image.pause});
  return list;
}

std::vector<page::PoolDecision> opinions_about(launcher::Launcher& launcher,
                                               const std::string& request_id) {
  std::vector<page::PoolDecision> opinions;
  const auto* decisions = launcher.history().decisions_about(request_id);
  if (decisions == nullptr) return opinions;
  for (const auto& [pool, decision] : *decisions) {
    opinions.push_back({.pool = pool,
                        .text = sentence(decision),
                        .reason = std::string(name_of(decision.reason.code))});
  }
  return opinions;
}

}  // namespace

page::PageSources page_sources(launcher::Launcher& launcher,
                               const telemetry::MetricsRegistry& registry, SiteProblems& problems,
                               const std::function<std::string()>& store_problem,
                               const std::function<const config::Config&()>& config) {
  return {
      .dashboard_url = config().webapp.dashboard_url,
      .providers = [&] { return all_providers(launcher, registry); },
      .problems = [&problems, store_problem] { return page_problems(problems, store_problem()); },
      .images = [config] { return configured_images(config()); },
      .opinions = [&](const std::string& id) { return opinions_about(launcher, id); },
      .observe_opinions =
          [&](std::function<void(const std::string&)> observer) {
            return launcher.history().observe_decisions(std::move(observer));
          }};
}

}  // namespace nodepool
