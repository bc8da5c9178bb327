#include "report/explanation/departed_pools.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

#include "planning/decision.h"
#include "planning/unregistered_pools.h"
#include "report/explanation/pool_decisions.h"

namespace nodepool::report {

namespace {

using model::NodeRequest;

constexpr std::string_view kFails = "it fails";

// The name of a pool of this host's configuration that the request waits for until its provider has
// started. Empty: none.
std::string pool_to_be_started(const ExplanationFacts& knowledge, const NodeRequest& request) {
  for (const auto& [name, facts] : knowledge.providers) {
    if (!facts.config) continue;
    std::string pool = planning::unserved_pool_of(*facts.config, request, knowledge.pools);
    if (!pool.empty()) return pool;
  }
  return {};
}

// The name of another unregistered pool that could serve the request, by its nodes. Empty if none
// is known here. Only the launchers know which pools were registered recently.
std::string pool_that_may_be_back(const ExplanationFacts& knowledge, const NodeRequest& request) {
  return planning::unserved_pool_with_nodes(request, knowledge.pools, knowledge.nodes);
}

// `most_left` in seconds. Only launchers know when a pool deregistered.
std::string deadline_text(const ExplanationFacts& knowledge, std::optional<double> most_left) {
  if (most_left) {
    return fmt::format("for at most {} more (pool-timeout)", duration_text(*most_left));
  }
  return fmt::format("until {} after it deregistered (pool-timeout)",
                     duration_text(static_cast<double>(knowledge.config.pool_timeout)));
}

// Whether the entry is the pool's decision to wait for the departed one.
bool waits_for_pool(const history::JournalEntry& entry) {
  const std::string_view name = planning::name_of(planning::Reason::Code::pool_may_be_back);
  return reason_name(std::get<history::Decided>(entry.facts)) == name;
}

// By the last decisions of the registered pools, unless that time is over. A restarted launcher
// waits again: its pools have other ids.
std::optional<double> most_time_left(const ExplanationFacts& knowledge,
                                     const std::vector<history::JournalEntry>& history) {
  std::optional<double> left;
  for (const model::Component* pool : knowledge.pools) {
    const history::JournalEntry* last = nullptr;
    for (const history::JournalEntry& entry : history) {
      const auto* decided = std::get_if<history::Decided>(&entry.facts);
      if (decided != nullptr && decided->pool == pool->id) last = &entry;
    }
    if (last == nullptr || !waits_for_pool(*last)) continue;
    const double end = last->time + static_cast<double>(knowledge.config.pool_timeout);
    if (end <= knowledge.now) continue;
    left = std::min(left.value_or(end - knowledge.now), end - knowledge.now);
  }
  return left;
}

}  // namespace

void say_no_pools(Statements& to) {
  say(to, "no-pools", "No pool is registered: no launcher runs, or none has a provider.");
}

std::string outcome_of_declines(const ExplanationFacts& knowledge, const NodeRequest& request,
                                std::optional<double> most_left) {
  if (!planning::declined_by_all(request, knowledge.pools)) return {};
  if (const std::string pool = pool_to_be_started(knowledge, request); !pool.empty()) {
    return fmt::format("it waits until the provider of pool {} has started", pool);
  }
  if (knowledge.config.pool_timeout <= 0) return std::string(kFails);
  const std::string pool = pool_that_may_be_back(knowledge, request);
  if (pool.empty()) {
    return "it fails, unless a pool that offers its labels deregistered recently: it waits for "
           "such a pool " +
           deadline_text(knowledge, most_left);
  }
  return fmt::format("it waits for pool {}, which is not registered now, {}; then it fails", pool,
                     deadline_text(knowledge, most_left));
}

void explain_wait_for_pools(Statements& to, const ExplanationFacts& knowledge,
                            const NodeRequest& request,
                            const std::vector<history::JournalEntry>& history) {
  const std::string outcome =
      outcome_of_declines(knowledge, request, most_time_left(knowledge, history));
  if (outcome.empty()) return;
  say(to, outcome == kFails ? "fails" : "waits-for-pool",
      fmt::format("Every registered pool has declined it: {}.", outcome));
}

std::string outcome_without_pool(const ExplanationFacts& knowledge, const std::string& label) {
  NodeRequest request;
  request.node_types = {label};
  if (const std::string pool = pool_to_be_started(knowledge, request); !pool.empty()) {
    return fmt::format("requests for it wait until the provider of pool {} has started", pool);
  }
  const std::string pool =
      knowledge.config.pool_timeout > 0 ? pool_that_may_be_back(knowledge, request) : "";
  if (pool.empty()) return "requests for it fail";
  return fmt::format(
      "requests for it wait for pool {}, which is not registered now, {}; then they fail", pool,
      deadline_text(knowledge, std::nullopt));
}

}  // namespace nodepool::report
