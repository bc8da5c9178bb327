#include "report/explanation/foresight.h"

#include <memory>
#include <optional>
#include <string_view>
#include <utility>

#include "planning/outlook.h"

namespace nodepool::report {

void foresee(const Foresight& foresight, driver::Provider& provider,
             const planning::QuotaFacts& quota, ProviderFacts& facts) {
  const driver::ProviderConfig& config = provider.config();
  const std::shared_ptr<driver::Provider> borrowed(std::shared_ptr<void>(), &provider);
  planning::Usage usage(
      foresight.nodes, [&](std::string_view of, std::string_view pool, std::string_view label) {
        return of == config.name() ? std::optional(provider.need(pool, label)) : std::nullopt;
      });
  for (const model::Component* pool : foresight.components.pools()) {
    if (pool->provider_name != config.name() || !config.pools().contains(pool->name)) continue;
    planning::Outlook outlook({foresight.now, foresight.nodes, foresight.requests,
                               foresight.components.pools(), foresight.tenant_limits, usage,
                               // A request that all have declined is not asked about here.
                               [](const model::NodeRequest&) { return std::string(); }},
                              *pool, borrowed, quota);
    if (auto decision = outlook.decision_about(foresight.request_id)) {
      facts.decisions.emplace(pool->id, std::move(*decision));
    }
  }
}

}  // namespace nodepool::report
