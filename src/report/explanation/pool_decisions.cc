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
#include "report/explanation/hosts.h"
#include "report/explanation/leases.h"
#include "report/explanation/own_history.h"
#include "report/explanation/pending_requests.h"
#include "report/explanation/silent_pools.h"

namespace nodepool::report {

namespace {

using model::Component;
using model::Node;
using model::NodeRequest;
using model::RequestState;
using planning::Decision;

// Seconds after which a deletion is worth a look.
constexpr double kSlowDeletion = 120;

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

// The last decision of a pool of the launcher that explains. Returns nullptr if it is unknown.
const Decision* own_decision(const ExplanationFacts& knowledge, const NodeRequest& request,
                             const Component& pool) {
  const PoolDecisions* own = knowledge.decisions ? knowledge.decisions(request.id) : nullptr;
  if (own == nullptr) return nullptr;
  const auto decision = own->find(pool.id);
  return decision == own->end() ? nullptr : &decision->second;
}

// What the pool would decide by the launcher's own rules. Returns nullptr if this host lacks the
// facts.
const Decision* simulated_decision(const ExplanationFacts& knowledge, const NodeRequest& request,
                                   const Component& pool) {
  const auto provider = knowledge.providers.find(pool.provider_name);
  if (request.id != knowledge.subject || provider == knowledge.providers.end()) return nullptr;
  const auto decision = provider->second.decisions.find(pool.id);
  return decision == provider->second.decisions.end() ? nullptr : &decision->second;
}

const Decision* present_decision(const ExplanationFacts& knowledge, const NodeRequest& request,
                                 const Component& pool) {
  const Decision* own = own_decision(knowledge, request, pool);
  return own != nullptr ? own : simulated_decision(knowledge, request, pool);
}

// Why the pool has declined the request: by its decision, or as far as the record's sentence shows
// if another launcher has decided.
planning::Reason::Code decline_code(const ExplanationFacts& knowledge, const NodeRequest& request,
                                    const Component& pool, std::string_view recorded) {
  const Decision* own = own_decision(knowledge, request, pool);
  const bool has_declined = own != nullptr && own->kind == Decision::Kind::decline;
  return has_declined ? own->reason.code : planning::code_of(recorded);
}

// The decision in words, without the id of a request that the reader may not see.
std::string decision_text(const ExplanationFacts& knowledge, Decision decision) {
  std::string& subject = decision.reason.subject;
  const bool is_request = decision.reason.code == planning::Reason::Code::comes_after;
  if (is_request && !is_visible(knowledge.may_name, subject)) subject = "of another client";
  return sentence(decision, planning::Words::of_configuration);
}

// The same for a decision in the journal.
std::string decision_text(const ExplanationFacts& knowledge, const history::JournalEntry& entry) {
  constexpr auto kComesAfter = planning::Reason::Code::comes_after;
  const auto& decided = std::get<history::Decided>(entry.facts);
  if (!knowledge.may_name || reason_name(decided) != planning::name_of(kComesAfter)) {
    return entry.details;
  }
  const json::Json subject = json::parse(decided.json).value("subject", json::Json());
  const std::string id = subject.is_string() ? subject.get<std::string>() : std::string();
  return decision_text(knowledge, Decision{.kind = Decision::Kind::wait,
                                           .until = Decision::Until::earlier_one_is_served,
                                           .reason = {.code = kComesAfter, .subject = id}});
}

std::string text_if_nothing_accepted(const Component& pool) {
  return fmt::format("accepts no requests: max-concurrency of provider {} is 0",
                     pool.provider_name);
}

bool accepts_nothing(const ExplanationFacts& knowledge, const Component& pool) {
  return max_concurrency_of(knowledge.providers, pool.provider_name) == 0;
}

// Held nodes count, too, and are not in the list of leases.
std::string with_holds(const ExplanationFacts& knowledge, const Component& pool,
                       const std::string& advice) {
  const auto held = std::ranges::count_if(
      knowledge.nodes.of_provider(pool.provider_name), [&knowledge](const std::string& id) {
        return knowledge.nodes.find(id)->state == model::NodeState::hold;
      });
  if (held == 0) return advice;
  return fmt::format("end holds that are not needed (`nodepool list --state hold`): {} {} held; {}",
                     held, held == 1 ? "node is" : "nodes are", advice);
}

// By the stable name of the reason for a decision.
std::string advice_for(const ExplanationFacts& knowledge, const NodeRequest& request,
                       const Component& pool, std::string_view reason) {
  using Code = planning::Reason::Code;
  constexpr std::array kFull{Code::nodes_not_free, Code::pool_full, Code::provider_full};
  if (std::ranges::find(kFull, reason, planning::name_of) == kFull.end()) {
    return advice_about(reason);
  }
  const std::vector<const Node*> deleting =
      in_deletion(holders_of(knowledge, pool, request.node_types, reason));
  if (deleting.empty() || knowledge.now - deleting.front()->state_time <= kSlowDeletion) {
    return with_holds(knowledge, pool, advice_about(reason));
  }
  const std::string& id = deleting.front()->id;
  if (!is_visible(knowledge.may_name, id)) {
    return "ask an operator why nodes of other clients are not deleted yet";
  }
  return fmt::format("check why node {0} is not deleted yet: `nodepool explain {0}`", id);
}

std::optional<Decision> ineligible(const ExplanationFacts& knowledge, const NodeRequest& request,
                                   const Component& pool) {
  const planning::PoolView view{&pool, max_concurrency_of(knowledge.providers, pool.provider_name)};
  return planning::check_eligibility(request, view, knowledge.pools);
}

// The pool's decision as far as this host knows it. Empty if it is unknown, or not to serve it.
ReasonToWait known_decision(const ExplanationFacts& knowledge, const NodeRequest& request,
                            const std::vector<history::JournalEntry>& history,
                            const Component& pool) {
  if (accepts_nothing(knowledge, pool)) return {};  // known ones are older
  const bool is_silent = why_unresponsive(knowledge, pool).has_value();
  if (const Decision* decision = present_decision(knowledge, request, pool)) {
    if (decision->kind == Decision::Kind::ignore) return {};
    // A simulated one does not show that the launcher responds.
    const bool is_due = decision->kind == Decision::Kind::accept ||
                        own_decision(knowledge, request, pool) == nullptr;
    if (is_silent && is_due) return {unresponsive_text(pool)};
    return {decision_text(knowledge, *decision),
            advice_for(knowledge, request, pool, planning::name_of(decision->reason.code))};
  }
  const std::optional<history::JournalEntry> last = last_decision(history, pool);
  if (!last || is_silent) return {};
  return {
      decision_text(knowledge, *last),
      advice_for(knowledge, request, pool, reason_name(std::get<history::Decided>(last->facts)))};
}

std::string where_decisions_are(const Component& pool) {
  if (implementation_of(pool) == model::Implementation::python_nodepool) {
    return fmt::format("its launcher is a Python Nodepool: see its log on {}", pool.hostname);
  }
  return fmt::format("its decisions are known on {}: use --url", pool.hostname);
}

// What is to be expected of a pool without a known decision. Empty if it does not serve the
// request.
ReasonToWait prospect(const ExplanationFacts& knowledge, const NodeRequest& request,
                      const std::vector<history::JournalEntry>& history, const Component& pool) {
  const bool ignores = present_decision(knowledge, request, pool) != nullptr;
  if (ignores || ineligible(knowledge, request, pool)) return {};
  if (why_unresponsive(knowledge, pool)) return {unresponsive_text(pool)};
  const bool is_undecided = knows_all_decisions(knowledge, request, history, pool);
  const std::string where = is_undecided ? "" : "; " + where_decisions_are(pool);
  if (pool.paused) {
    return {
        "is paused: at capacity" + where,
        advice_for(knowledge, request, pool, planning::name_of(planning::Reason::Code::pool_full))};
  }
  return {is_undecided ? "has not decided about it yet" : "may serve it" + where};
}

// The problem by which a launcher serves no pool. Empty: unknown.
std::string why_without_pools(const Component& launcher) {
  const auto found = std::ranges::find_if(launcher.problems, [](const std::string& problem) {
    return problem.contains(" is not in service: ");
  });
  if (found != launcher.problems.end()) return *found;
  return launcher.configuration_problem.empty()
             ? std::string()
             : model::rejection_text(launcher.configuration_problem);
}

// Why the request waits although no pool is about to serve it.
ReasonToWait reason_without_pool(const ExplanationFacts& knowledge, const NodeRequest& request) {
  if (const std::string outcome = outcome_of_declines(knowledge, request); !outcome.empty()) {
    return {"every registered pool has declined it: " + outcome};
  }
  bool is_offered = false;
  for (const Component* pool : knowledge.pools) {
    if (!pool->supports(request.node_types)) continue;
    is_offered = true;
    if (request.declined(pool->id) || !accepts_nothing(knowledge, *pool)) continue;
    return {pool_title(*pool) + " " + text_if_nothing_accepted(*pool),
            fmt::format("raise max-concurrency of provider {}", pool->provider_name)};
  }
  if (is_offered) return {};
  return {"no registered pool offers all of its labels", advice_without_pool()};
}

}  // namespace

std::string decline_text(std::string text) {
  return planning::in_words_of_configuration(std::move(text));
}

std::string reason_name(const history::Decided& decided) {
  const json::Json name = json::parse(decided.json).value("reason", json::Json());
  return name.is_string() ? name.get<std::string>() : std::string();
}

std::vector<const Component*> pools_without_labels(const ExplanationFacts& knowledge,
                                                   const NodeRequest& request) {
  std::vector<const Component*> pools;
  for (const Component* pool : knowledge.pools) {
    const auto reason = request.decline_reasons.find(pool->id);
    const bool has_other_reason = reason != request.decline_reasons.end() &&
                                  decline_code(knowledge, request, *pool, reason->second) !=
                                      planning::Reason::Code::labels_not_offered;
    if (!pool->supports(request.node_types) && !has_other_reason) pools.push_back(pool);
  }
  return pools;
}

Statement pool_decision(const ExplanationFacts& knowledge, const NodeRequest& request,
                        const std::vector<history::JournalEntry>& history, const Component& pool) {
  const auto statement = [](std::string key, std::string text) {
    return Statement{.key = std::move(key), .name = {}, .text = std::move(text)};
  };
  if (const auto reason = request.decline_reasons.find(pool.id);
      reason != request.decline_reasons.end()) {
    return statement("declined", "declined: " + decline_text(reason->second));
  }
  if (request.declined(pool.id)) {
    return statement("declined", "declined, without a reason in the record");
  }
  if (accepts_nothing(knowledge, pool)) {
    return statement("decides", text_if_nothing_accepted(pool));
  }
  if (const Decision* decision = present_decision(knowledge, request, pool)) {
    return statement("decides", decision_text(knowledge, *decision));
  }
  if (const std::optional<Decision> decision = ineligible(knowledge, request, pool)) {
    return statement("left-to-another", fmt::format("{} (until {})", sentence(decision->reason),
                                                    to_string(decision->until)));
  }
  if (const std::optional<history::JournalEntry> last = last_decision(history, pool)) {
    return statement("decided", fmt::format("{}; decided {} ago", decision_text(knowledge, *last),
                                            duration_text(knowledge.now - last->time)));
  }
  return statement("not-decided",
                   fmt::format("{}; {}", free_nodes(knowledge, request, pool),
                               knows_all_decisions(knowledge, request, history, pool)
                                   ? "it has not decided about it yet"
                                   : "this host has no record of a decision by this pool"));
}

std::string reason_of_decision(const ExplanationFacts& knowledge, const NodeRequest& request,
                               const std::vector<history::JournalEntry>& history,
                               const Component& pool) {
  if (const Decision* decision = present_decision(knowledge, request, pool)) {
    return std::string(planning::name_of(decision->reason.code));
  }
  if (const std::optional<history::JournalEntry> last = last_decision(history, pool)) {
    return reason_name(std::get<history::Decided>(last->facts));
  }
  return pool.paused ? std::string(planning::name_of(planning::Reason::Code::pool_full)) : "";
}

std::optional<ReasonToWait> launcher_without_pools(const model::ComponentTable& components,
                                                   const MayName& may_name) {
  const Component* launcher = nullptr;
  std::string problem;
  for (const auto& [id, component] : components.all()) {
    if (component.kind != Component::Kind::launcher) continue;
    const std::string found = why_without_pools(component);
    if (launcher != nullptr && (!problem.empty() || found.empty())) continue;
    launcher = &component;
    problem = found;
  }
  if (launcher == nullptr) return std::nullopt;
  if (may_name) {
    return ReasonToWait{"a launcher runs, but serves no pool",
                        "ask an operator: `nodepool status` shows the problems of launchers"};
  }
  const std::string text = fmt::format("launcher on {} serves no pool", launcher->hostname);
  if (problem.empty()) {
    return ReasonToWait{
        text,
        "wait until it has started, or add a pool for the label to a provider in its "
        "configuration"};
  }
  return ReasonToWait{fmt::format("{}: {}", text, problem),
                      "solve this problem; `nodepool status` shows the others"};
}

void explain_missing_pools(Statements& to, const ExplanationFacts& knowledge) {
  const auto reason = launcher_without_pools(knowledge.components, knowledge.may_name);
  if (!reason) return say_no_pools(to);
  say(to, "no-pools", fmt::format("No pool is registered: {}.", reason->text));
}

ReasonToWait reason_to_wait(const ExplanationFacts& knowledge, const NodeRequest& request,
                            const std::vector<history::JournalEntry>& history) {
  if (request.state == RequestState::pending) {
    return reason_of_pending(knowledge, request);
  }
  if (request.state != RequestState::requested) return {};
  if (knowledge.pools.empty()) {
    const ReasonToWait none{"no launcher serves a pool",
                            "start a launcher whose configuration has a pool for the label"};
    return launcher_without_pools(knowledge.components, knowledge.may_name).value_or(none);
  }
  std::vector<ReasonToWait> known;
  std::vector<ReasonToWait> possible;
  for (const Component* pool : knowledge.pools) {
    if (!pool->supports(request.node_types) || request.declined(pool->id)) continue;
    ReasonToWait reason = known_decision(knowledge, request, history, *pool);
    std::vector<ReasonToWait>& reasons = reason.text.empty() ? possible : known;
    if (reason.text.empty()) reason = prospect(knowledge, request, history, *pool);
    if (reason.text.empty()) continue;
    reason.text = fmt::format("{} {}", pool_title(*pool), reason.text);
    const std::string host = unhealthy_host(knowledge, *pool, request.node_types);
    if (!host.empty()) {
      reason.text += "; " + host;
      reason.advice =
          "repair unhealthy hosts" + (reason.advice.empty() ? "" : ", " + reason.advice);
    }
    reasons.push_back(std::move(reason));
  }
  const std::vector<ReasonToWait>& reasons = known.empty() ? possible : known;
  if (reasons.empty()) return reason_without_pool(knowledge, request);
  ReasonToWait reason = reasons.front();
  if (reasons.size() > 1) {
    reason.text +=
        fmt::format(" (and {} other pool{})", reasons.size() - 1, reasons.size() == 2 ? "" : "s");
  }
  return reason;
}

}  // namespace nodepool::report
