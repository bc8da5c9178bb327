#include "report/explanation/labels.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <limits>
#include <map>
#include <string_view>

#include "report/explanation/departed_pools.h"
#include "report/explanation/hosts.h"
#include "report/explanation/pool_decisions.h"
#include "report/explanation/silent_pools.h"

namespace nodepool::report {

namespace {

using model::Component;
using model::Node;

void explain_pool_of_label(Statements& to, const ExplanationFacts& knowledge, const Component& pool,
                           const std::string& label) {
  std::map<std::string_view, std::size_t> by_state;
  for (const Node* node : nodes_with(knowledge, pool, {label})) ++by_state[to_string(node->state)];
  std::vector<std::string> counts;
  counts.reserve(by_state.size());
  for (const auto& [state, count] : by_state) counts.push_back(fmt::format("{} {}", count, state));
  Statements& details = say(to, "pool",
                            fmt::format("{}: priority {}{}", pool_title(pool), pool.priority,
                                        pool.paused ? ", paused: at capacity" : ""))
                            .details;
  const bool is_unresponsive = why_unresponsive(knowledge, pool).has_value();
  say(details, "nodes",
      fmt::format("nodes: {}; {} {}",
                  counts.empty() ? "none" : fmt::format("{}", fmt::join(counts, ", ")),
                  knowledge.nodes.free(pool.provider_name, pool.name, label).size(),
                  is_unresponsive ? "are free" : "can be handed out now"));
  explain_unresponsiveness(details, knowledge, pool);
  explain_hosts(details, knowledge, pool, {label}, std::numeric_limits<std::size_t>::max());
  if (const ProviderFacts* provider = knowledge.provider(pool.provider_name)) {
    explain_capacity(details, knowledge.machine_records(), *provider, pool, {label});
  }
}

void explain_missing_pool(Statements& to, const ExplanationFacts& knowledge,
                          const std::string& label) {
  const auto ready = std::ranges::count_if(knowledge.nodes.all(), [&label](const auto& entry) {
    return entry.second.state == model::NodeState::ready && entry.second.has_label(label);
  });
  if (knowledge.pools.empty()) {
    explain_missing_pools(to, knowledge);
  } else {
    say(to, "not-offered",
        fmt::format("No registered pool offers it: {}.", outcome_without_pool(knowledge, label)));
  }
  if (ready > 0) {
    say(to, "idle-nodes", fmt::format("{} node(s) are ready, but no pool hands them out.", ready));
  }
}

}  // namespace

Explanation explain_label(const ExplanationFacts& knowledge, const std::string& label,
                          std::vector<std::string>& waiting) {
  Explanation explanation;
  Statements& statements = explanation.statements;
  Statements& facts = say(statements, "label", "Label " + label).details;
  if (const auto found = knowledge.config.labels.find(label);
      found != knowledge.config.labels.end() && found->second.min_ready > 0) {
    say_of(facts, "min-ready", std::to_string(found->second.min_ready));
  }
  bool is_offered = false;
  for (const Component* pool : knowledge.pools) {
    if (!pool->supports(label)) continue;
    is_offered = true;
    explain_pool_of_label(facts, knowledge, *pool, label);
  }
  if (!is_offered) explain_missing_pool(statements, knowledge, label);

  for (const auto& [key, id] : knowledge.requests.waiting()) {
    const auto& labels = knowledge.requests.find(id)->node_types;
    if (std::ranges::find(labels, label) != labels.end()) waiting.push_back(id);
  }
  say(statements, "waiting", fmt::format("{} request(s) wait for it", waiting.size()));
  return explanation;
}

void add_waiting_request(Explanation& to, const ExplanationFacts& knowledge,
                         const model::NodeRequest& request) {
  const auto history = knowledge.history(request.id).entries;
  const ReasonToWait reason = reason_to_wait(knowledge, request, history);
  say(to.statements.back().details, "request",
      fmt::format("{}: {}", request.id,
                  reason.text.empty() ? "the reason is not known" : reason.text));
}

}  // namespace nodepool::report
