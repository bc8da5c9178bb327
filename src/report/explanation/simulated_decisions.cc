#include "report/explanation/simulated_decisions.h"

#include <memory>
#include <optional>
#include <string_view>
#include <utility>

#include "planning/decision_simulator.h"

namespace nodepool::report {

void simulate_decisions(const SimulationInput& input, std::shared_ptr<const driver::Offer> offer,
                        const planning::QuotaFacts& quota, ProviderFacts& facts) {
  const driver::ProviderConfig& config = *facts.config;
  planning::ResourceUsage usage(
      input.nodes, [&](std::string_view of, std::string_view pool, std::string_view label) {
        return of == config.name() ? std::optional(offer->label(pool, label).need) : std::nullopt;
      });
  for (const model::Component* pool : input.components.pools()) {
    if (pool->provider_name != config.name() || !config.pools().contains(pool->name)) continue;
    planning::DecisionSimulator simulator(
        {input.now, input.nodes, input.requests, input.components.pools(), input.tenant_limits,
         usage,
         // Only launchers know the pools that deregistered recently.
         [](const model::NodeRequest&) { return std::string(); }},
        *pool, config, offer, quota);
    if (auto decision = simulator.decision_about(input.request_id)) {
      facts.decisions.emplace(pool->id, std::move(*decision));
    }
  }
}

}  // namespace nodepool::report
