#include "report/explanation/absent_pools.h"

#include <fmt/format.h>

#include <algorithm>

#include "planning/decision.h"
#include "planning/unregistered_pools.h"

namespace nodepool::report {

namespace {

using model::NodeRequest;

// The name of a pool that is not registered and could serve the request: nodes show it, or this
// host's configuration has it. Empty: none is known here. (Which pools have been registered lately
// only the launchers know.)
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

std::string patience(const ExplanationFacts& knowledge) {
  return fmt::format("{} after it has gone (pool-timeout)",
                     duration_text(static_cast<double>(knowledge.config.pool_timeout)));
}

}  // namespace

void explain_wait_for_pools(Statements& to, const ExplanationFacts& knowledge,
                            const NodeRequest& request) {
  if (!planning::declined_by_all(request, knowledge.pools)) return;
  const std::string pool = pool_that_may_be_back(knowledge, request);
  if (knowledge.config.pool_timeout <= 0) {
    say(to, "fails", "Every registered pool has declined it: it fails.");
  } else if (pool.empty()) {
    say(to, "waits-for-pool",
        "Every registered pool has declined it. It fails unless a pool has just gone that offers "
        "its labels: that is waited for until " +
            patience(knowledge) + ".");
  } else {
    say(to, "waits-for-pool",
        fmt::format("Every registered pool has declined it. It waits for pool {}, which is not "
                    "registered and may be back, until {}; then it fails.",
                    pool, patience(knowledge)));
  }
}

std::string fate_without_pool(const ExplanationFacts& knowledge, const std::string& label) {
  NodeRequest request;
  request.node_types = {label};
  const std::string pool =
      knowledge.config.pool_timeout > 0 ? pool_that_may_be_back(knowledge, request) : "";
  if (pool.empty()) return "requests for it fail";
  return fmt::format(
      "requests for it wait for pool {}, which may be back, until {}; then they fail", pool,
      patience(knowledge));
}

}  // namespace nodepool::report
