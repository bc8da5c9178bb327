#include "report/explanation/pool_decisions.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <optional>
#include <string_view>
#include <utility>

#include "json/json.h"
#include "planning/decision_text.h"
#include "report/explanation/departed_pools.h"
#include "report/explanation/silent_pools.h"

namespace nodepool::report {

namespace {

using model::Component;
using model::Node;
using model::NodeRequest;
using model::RequestState;
using planning::Decision;

// The last decision of this pool in the journal of this host, without the name of the pool. Pools
// are compared by their titles: a restarted pool has another id.
std::optional<history::JournalEntry> last_decision(
    const std::vector<history::JournalEntry>& history, const Component& pool) {
  const std::string title = model::pool_title(std::string_view(pool.id));
  std::optional<history::JournalEntry> last;
  for (const history::JournalEntry& entry : history) {
    const auto* decided = std::get_if<history::Decided>(&entry.facts);
    if (decided != nullptr && model::pool_title(decided->pool) == title) last = entry;
  }
  if (last) last->details.erase(0, title.size() + 1);
  return last;
}

std::string free_nodes(const ExplanationFacts& knowledge, const NodeRequest& request,
                       const Component& pool) {
  std::vector<std::string> counts;
  for (const std::string& label : request.node_types) {
    const std::string count = fmt::format(
        "{} {}", knowledge.nodes.free(pool.provider_name, pool.name, label).size(), label);
    if (std::ranges::find(counts, count) == counts.end()) counts.push_back(count);
  }
  return fmt::format("free nodes: {}", fmt::join(counts, ", "));
}

// What the pool would decide by the launcher's own rules. Returns nullptr if this host lacks the
// facts.
const Decision* simulated_decision(const ExplanationFacts& knowledge, const Component& pool) {
  const auto provider = knowledge.providers.find(pool.provider_name);
  if (provider == knowledge.providers.end()) return nullptr;
  const auto decision = provider->second.decisions.find(pool.id);
  return decision == provider->second.decisions.end() ? nullptr : &decision->second;
}

// "node 0000000004 is building, attempt 2 of 3; small: usually ready after 41 s".
std::string launch_in_progress(const ExplanationFacts& knowledge, const Node& node) {
  std::string text = fmt::format("node {} is {}", node.id, to_string(node.state));
  const auto provider = knowledge.providers.find(node.provider.value_or(""));
  if (provider == knowledge.providers.end()) return text;
  if (const std::string attempt = attempt_of_launch(provider->second, node); !attempt.empty()) {
    text += ", " + attempt;
  }
  for (const std::string& label : node.type) {
    const std::optional<double> usual = usual_boot_time(provider->second, label);
    if (usual) text += fmt::format("; usually ready after {:.0f} s", *usual);
  }
  return text;
}

ReasonToWait reason_of_launches(const ExplanationFacts& knowledge, const NodeRequest& request) {
  std::string text;
  std::size_t others = 0;
  for (const std::string& id : knowledge.nodes.allocated_to(request.id)) {
    const Node& node = *knowledge.nodes.find(id);
    if (node.state == model::NodeState::ready) continue;
    if (!text.empty()) {
      ++others;
    } else {
      text = launch_in_progress(knowledge, node);
    }
  }
  if (text.empty()) return {};
  if (others > 0) text += fmt::format(" (and {} more)", others);
  return {std::move(text), "allow more time (--timeout): a launch is under way"};
}

// Without the figures of why_unresponsive(), which change with time.
std::string unresponsive(const Component& pool) {
  return fmt::format("does not respond: check whether its launcher on {} hangs or is stopped",
                     pool.hostname);
}

// The stable name of the reason (planning::name_of()); empty: there is none.
std::string reason_name(const history::Decided& decided) {
  const json::Json name = json::parse(decided.json).value("reason", json::Json());
  return name.is_string() ? name.get<std::string>() : std::string();
}

// By the stable name of the reason for a decision.
std::string advice_about(const ExplanationFacts& knowledge, const Component& pool,
                         std::string_view reason) {
  using Code = planning::Reason::Code;
  constexpr std::array kFull{Code::nodes_not_free, Code::pool_full, Code::provider_full};
  const bool is_full = std::ranges::find(kFull, reason, planning::name_of) != kFull.end();
  if (!is_full) return {};
  std::string advice =
      "release leases that are not needed (`nodepool lease-list`), raise the limit, or add hosts";
  const auto held = std::ranges::count_if(
      knowledge.nodes.of_provider(pool.provider_name), [&](const std::string& id) {
        return knowledge.nodes.find(id)->state == model::NodeState::hold;
      });
  if (held == 0) return advice;
  return fmt::format("end holds that are not needed (`nodepool list --state hold`): {} {} held; {}",
                     held, held == 1 ? "node is" : "nodes are", advice);
}

// The pool's decision as far as this host knows it. Empty if it is unknown, or not to serve it.
ReasonToWait known_decision(const ExplanationFacts& knowledge,
                            const std::vector<history::JournalEntry>& history,
                            const Component& pool) {
  if (const Decision* decision = simulated_decision(knowledge, pool)) {
    const bool is_due = decision->kind == Decision::Kind::accept;
    if (is_due && why_unresponsive(knowledge, pool)) return {unresponsive(pool)};
    if (decision->kind == Decision::Kind::ignore) return {};
    return {sentence(*decision),
            advice_about(knowledge, pool, planning::name_of(decision->reason.code))};
  }
  const std::optional<history::JournalEntry> last = last_decision(history, pool);
  if (!last) return {};
  return {last->details,
          advice_about(knowledge, pool, reason_name(std::get<history::Decided>(last->facts)))};
}

// What is to be expected of a pool without a known decision. Empty if it does not serve the
// request.
ReasonToWait prospect(const ExplanationFacts& knowledge, const NodeRequest& request,
                      const Component& pool) {
  const bool ignores = simulated_decision(knowledge, pool) != nullptr;
  if (ignores ||
      planning::check_eligibility(request, {&pool, /*max_concurrency=*/-1}, knowledge.pools)) {
    return {};
  }
  if (why_unresponsive(knowledge, pool)) return {unresponsive(pool)};
  const auto where = fmt::format("its decisions are known on {}: use --url", pool.hostname);
  if (!pool.paused) return {"may serve it; " + where};
  return {"is paused: at capacity; " + where,
          advice_about(knowledge, pool, planning::name_of(planning::Reason::Code::pool_full))};
}

// Why the request waits although no pool is about to serve it.
ReasonToWait reason_without_pool(const ExplanationFacts& knowledge, const NodeRequest& request) {
  if (const std::string outcome = outcome_of_declines(knowledge, request); !outcome.empty()) {
    return {"every registered pool has declined it: " + outcome};
  }
  const bool is_offered = std::ranges::any_of(
      knowledge.pools, [&](const Component* pool) { return pool->supports(request.node_types); });
  if (is_offered) return {};
  return {"no registered pool offers all of its labels",
          "add them to one pool, or request labels that `nodepool label-list` shows"};
}

}  // namespace

Statement pool_decision(const ExplanationFacts& knowledge, const NodeRequest& request,
                        const std::vector<history::JournalEntry>& history, const Component& pool) {
  if (const auto reason = request.decline_reasons.find(pool.id);
      reason != request.decline_reasons.end()) {
    return {.key = "declined", .name = {}, .text = "declined: " + reason->second};
  }
  if (request.declined(pool.id)) {
    return {.key = "declined", .name = {}, .text = "declined, without a reason in the record"};
  }
  if (const Decision* decision = simulated_decision(knowledge, pool)) {
    return {.key = "decides", .name = {}, .text = sentence(*decision)};
  }
  const auto ineligible =
      planning::check_eligibility(request, {&pool, /*max_concurrency=*/-1}, knowledge.pools);
  if (ineligible) {
    return {.key = "left-to-another",
            .name = {},
            .text = fmt::format("{} (until {})", sentence(ineligible->reason),
                                to_string(ineligible->until))};
  }
  if (const std::optional<history::JournalEntry> last = last_decision(history, pool)) {
    return {.key = "decided",
            .name = {},
            .text = fmt::format("{}; decided {} ago", last->details,
                                duration_text(knowledge.now - last->time))};
  }
  return {.key = "not-decided",
          .name = {},
          .text = fmt::format("{}; this host has no record of a decision by this pool",
                              free_nodes(knowledge, request, pool))};
}

ReasonToWait reason_to_wait(const ExplanationFacts& knowledge, const NodeRequest& request,
                            const std::vector<history::JournalEntry>& history) {
  if (request.state == RequestState::pending) return reason_of_launches(knowledge, request);
  if (request.state != RequestState::requested) return {};
  if (knowledge.pools.empty()) {
    return {"no launcher serves a pool",
            "start a launcher whose configuration has a pool for the label"};
  }
  std::vector<ReasonToWait> known;
  std::vector<ReasonToWait> possible;
  for (const Component* pool : knowledge.pools) {
    if (!pool->supports(request.node_types) || request.declined(pool->id)) continue;
    ReasonToWait reason = known_decision(knowledge, history, *pool);
    std::vector<ReasonToWait>& reasons = reason.text.empty() ? possible : known;
    if (reason.text.empty()) reason = prospect(knowledge, request, *pool);
    if (reason.text.empty()) continue;
    reason.text = fmt::format("{} {}", pool_title(*pool), reason.text);
    reasons.push_back(std::move(reason));
  }
  const std::vector<ReasonToWait>& reasons = known.empty() ? possible : known;
  if (reasons.empty()) return reason_without_pool(knowledge, request);
  ReasonToWait reason = reasons.front();
  if (reasons.size() > 1) reason.text += fmt::format(" (and {} other pools)", reasons.size() - 1);
  return reason;
}

}  // namespace nodepool::report
