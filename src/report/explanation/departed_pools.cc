#include "report/explanation/departed_pools.h"

#include <fmt/format.h>

#include <algorithm>

#include "planning/decision.h"
#include "planning/unregistered_pools.h"

namespace nodepool::report {

namespace {

using model::NodeRequest;

// The name of an unregistered pool that could serve the request, by its nodes or by this host's
// configuration. Empty if none is known here. Only the launchers know which pools were registered
// recently.
std::string pool_that_may_be_back(const ExplanationFacts& knowledge, const NodeRequest& request) {
  std::string shown = planning::unserved_pool_with_nodes(request, knowledge.pools, knowledge.nodes);
  if (!shown.empty()) return shown;
  for (const auto& [provider, facts] : knowledge.providers) {
    if (!facts.config) continue;
    for (const auto& [name, pool] : facts.config->pools()) {
      const bool offers_all = std::ranges::all_of(
          request.node_types,
          [&pool](const std::string& label) { return pool.labels.contains(label); });
      if (offers_all && !planning::is_served(provider, name, knowledge.pools)) {
        return fmt::format("{}-{}", provider, name);
      }
    }
  }
  return {};
}

std::string deadline_text(const ExplanationFacts& knowledge) {
  return fmt::format("{} after it deregistered (pool-timeout)",
                     duration_text(static_cast<double>(knowledge.config.pool_timeout)));
}

}  // namespace

std::string outcome_of_declines(const ExplanationFacts& knowledge, const NodeRequest& request) {
  if (!planning::declined_by_all(request, knowledge.pools)) return {};
  if (knowledge.config.pool_timeout <= 0) return "it fails";
  const std::string pool = pool_that_may_be_back(knowledge, request);
  if (pool.empty()) {
    return "it fails, unless a pool that offers its labels deregistered recently: it waits for "
           "such a pool until " +
           deadline_text(knowledge);
  }
  return fmt::format("it waits for pool {}, which is not registered now, until {}; then it fails",
                     pool, deadline_text(knowledge));
}

void explain_wait_for_pools(Statements& to, const ExplanationFacts& knowledge,
                            const NodeRequest& request) {
  const std::string outcome = outcome_of_declines(knowledge, request);
  if (outcome.empty()) return;
  say(to, knowledge.config.pool_timeout <= 0 ? "fails" : "waits-for-pool",
      fmt::format("Every registered pool has declined it: {}.", outcome));
}

std::string outcome_without_pool(const ExplanationFacts& knowledge, const std::string& label) {
  NodeRequest request;
  request.node_types = {label};
  const std::string pool =
      knowledge.config.pool_timeout > 0 ? pool_that_may_be_back(knowledge, request) : "";
  if (pool.empty()) return "requests for it fail";
  return fmt::format(
      "requests for it wait for pool {}, which is not registered now, until {}; then they fail",
      pool, deadline_text(knowledge));
}

}  // namespace nodepool::report
