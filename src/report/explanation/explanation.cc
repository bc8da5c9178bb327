#include "report/explanation/explanation.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>

#include "model/lease.h"
#include "planning/decision.h"
#include "report/explanation/absent_pools.h"
#include "report/explanation/backing.h"
#include "report/explanation/hosts.h"
#include "report/explanation/silent_pools.h"
#include "report/launch_text.h"

namespace nodepool::report {

namespace {

using model::Component;
using model::Node;
using model::NodeRequest;
using model::NodeState;
using model::RequestState;
using planning::Decision;

// Of those that wait for a label.
constexpr std::size_t kMostRequests = 10;

// Of nodes that are on nodes: whatever the records say, there is an end.
constexpr int kDeepest = 4;

std::string pool_name(const Component& pool) {
  return pool.provider_name + "-" + pool.name;
}

bool shares_label(const NodeRequest& request, const NodeRequest& other) {
  return std::ranges::any_of(request.node_types, [&other](const std::string& label) {
    return std::ranges::find(other.node_types, label) != other.node_types.end();
  });
}

MachineRecords records_of(const ExplanationFacts& knowledge) {
  return {knowledge.now, knowledge.nodes, knowledge.images};
}

// nullptr if this host does not configure it.
const ProviderFacts* facts_of(const ExplanationFacts& knowledge, std::string_view provider) {
  const auto found = knowledge.providers.find(provider);
  return found == knowledge.providers.end() ? nullptr : &found->second;
}

std::string position_in_queue(const ExplanationFacts& knowledge, const NodeRequest& request) {
  std::size_t ahead = 0;
  std::size_t rivals = 0;
  for (const auto& [order, id] : knowledge.requests.waiting()) {
    if (id == request.id) break;
    ++ahead;
    if (shares_label(request, *knowledge.requests.find(id))) ++rivals;
  }
  return fmt::format("{} of {} waiting requests; of those ahead {} want a label of its", ahead + 1,
                     knowledge.requests.waiting().size(), rivals);
}

// --- what the pools make of a request

// The last decision of this pool that is written down on this host.
std::optional<history::Entry> last_decision(const std::vector<history::Entry>& history,
                                            const Component& pool) {
  // "<fqdn>-PoolWorker.<provider>-<pool> waits: …"
  const std::string owner = "PoolWorker." + pool_name(pool) + " ";
  std::optional<history::Entry> last;
  for (const history::Entry& entry : history) {
    if (entry.event == "decision" && entry.details.find(owner) != std::string::npos) last = entry;
  }
  if (last) last->details.erase(0, last->details.find(owner) + owner.size());
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

// What the pool would decide by the launcher's own rules, as far as this host knows its facts.
const Decision* outlook(const ExplanationFacts& knowledge, const Component& pool) {
  const ProviderFacts* provider = facts_of(knowledge, pool.provider_name);
  if (provider == nullptr) return nullptr;
  const auto decision = provider->decisions.find(pool.id);
  return decision == provider->decisions.end() ? nullptr : &decision->second;
}

void explain_pool(Statements& to, const ExplanationFacts& knowledge, const NodeRequest& request,
                  const std::vector<history::Entry>& history, const Component& pool) {
  if (const auto reason = request.decline_reasons.find(pool.id);
      reason != request.decline_reasons.end()) {
    say(to, "declined", "declined: " + reason->second);
    return;
  }
  if (request.declined(pool.id)) {
    say(to, "declined", "declined, without a reason in the record");
    return;
  }
  if (const Decision* decision = outlook(knowledge, pool)) {
    say(to, "decides", sentence(*decision));
    return;
  }
  const auto ineligible =
      planning::check_eligibility(request, {&pool, /*max_concurrency=*/-1}, knowledge.pools);
  if (ineligible) {
    say(to, "left-to-another",
        fmt::format("{} (until {})", sentence(ineligible->reason), to_string(ineligible->until)));
    return;
  }
  const std::optional<history::Entry> last = last_decision(history, pool);
  if (last) {
    say(to, "decided",
        fmt::format("{}; decided {} ago", last->details,
                    duration_text(knowledge.now - last->time)));
    return;
  }
  say(to, "not-decided",
      fmt::format("{}; no decision of this pool is written down on this host",
                  free_nodes(knowledge, request, pool)));
}

void explain_silence(Statements& to, const ExplanationFacts& knowledge, const Component& pool) {
  if (const auto sign = sign_of_silence(knowledge, pool)) say(to, "silent", *sign);
}

void say_that_no_pool_is_registered(Statements& to) {
  say(to, "no-pools", "No pool is registered: no launcher runs, or none has a provider.");
}

void explain_pools(Statements& to, const ExplanationFacts& knowledge, const NodeRequest& request) {
  if (knowledge.pools.empty()) return say_that_no_pool_is_registered(to);
  const std::vector<history::Entry> history = knowledge.history(request.id);
  Statement& pools = say(to, "pools", "Pools");
  for (const Component* pool : knowledge.pools) {
    const std::string paused = pool->paused ? " (paused: it has no room)" : "";
    Statements& details = say(pools.details, "pool",
                              fmt::format("{} on {}{}", pool_name(*pool), pool->hostname, paused))
                              .details;
    explain_pool(details, knowledge, request, history, *pool);
    explain_silence(details, knowledge, *pool);
    const ProviderFacts* provider = facts_of(knowledge, pool->provider_name);
    if (provider != nullptr && pool->supports(request.node_types)) {
      explain_room(details, records_of(knowledge), *provider, *pool, request.node_types);
    }
  }
}

// Attempts at launching the node that have failed, as far as this host has them written down, and
// where all of it is said.
void explain_failed_attempts(Statements& to, const ExplanationFacts& knowledge, const Node& node) {
  const std::vector<history::Entry> history = knowledge.history(node.id);
  std::size_t failed = 0;
  const history::Entry* last = nullptr;
  for (const history::Entry& entry : history) {
    if (launch_text(entry).empty()) continue;
    ++failed;
    last = &entry;
  }
  if (last == nullptr) return;
  say(to, "failed-attempts",
      fmt::format("{} attempt(s) at launching it failed, the last {} ago: {} (`nodepool history "
                  "{}` says what was tried)",
                  failed, duration_text(knowledge.now - last->time), last->details, node.id));
}

void explain_nodes(Statements& to, const ExplanationFacts& knowledge,
                   const std::string& request_id) {
  for (const std::string& id : knowledge.nodes.allocated_to(request_id)) {
    const Node& node = *knowledge.nodes.find(id);
    say_of(to, "node", "node " + id,
           fmt::format("{} for {} ({})", to_string(node.state),
                       duration_text(knowledge.now - node.state_time), fmt::join(node.type, ", ")));
    explain_launch(to, records_of(knowledge), facts_of(knowledge, node.provider.value_or("")),
                   node);
    explain_failed_attempts(to, knowledge, node);
    explain_backing(to, knowledge, node);
  }
}

// --- what becomes of a node

// Why nobody does anything with the node; nothing if somebody does.
std::optional<std::string> neglect(const ExplanationFacts& knowledge, const Node& node) {
  std::optional<std::string> sign;
  for (const Component* pool : knowledge.pools) {
    if (pool->provider_name != node.provider) continue;
    const auto silence = sign_of_silence(knowledge, *pool);
    if (!silence) return std::nullopt;
    sign = fmt::format("nothing as it seems: {} {}", pool_name(*pool), *silence);
  }
  return sign ? sign : "no registered launcher serves its provider: nothing";
}

std::string hold_ends(const ExplanationFacts& knowledge, const Node& node) {
  std::optional<std::int64_t> limit = knowledge.config.max_hold_age;
  if (limit && *limit <= 0) limit.reset();
  if (node.hold_expiration && *node.hold_expiration > 0) {
    limit = std::min(limit.value_or(*node.hold_expiration), *node.hold_expiration);
  }
  if (!limit) return "it is kept until somebody deletes it";
  const double left = node.state_time + static_cast<double>(*limit) - knowledge.now;
  return fmt::format("it is kept for another {}", duration_text(left));
}

std::string ready_ends(const ExplanationFacts& knowledge, const Node& node) {
  std::optional<double> left;
  for (const std::string& label : node.type) {
    const auto found = knowledge.config.labels.find(label);
    if (found == knowledge.config.labels.end() || found->second.max_ready_age <= 0) continue;
    const double end =
        node.state_time + static_cast<double>(found->second.max_ready_age) - knowledge.now;
    left = std::min(left.value_or(end), end);
  }
  if (!left) return "the next request for one of its labels may get it";
  return fmt::format("the next request for one of its labels may get it; it is deleted in {}",
                     duration_text(*left));
}

std::string what_next(const ExplanationFacts& knowledge, const Node& node, bool locked) {
  if (const auto reason = neglect(knowledge, node)) return *reason;
  switch (node.state) {
    case NodeState::ready: {
      if (!node.allocated_to) return ready_ends(knowledge, node);
      if (knowledge.requests.find(*node.allocated_to) == nullptr) {
        return locked ? "its requestor has it, and uses it or gives it back"
                      : "its request is gone: it becomes free";
      }
      return "its request has been answered: its requestor is to take it";
    }
    case NodeState::hold:
      return locked ? "whoever has locked it decides" : hold_ends(knowledge, node);
    case NodeState::init:
      return "its launcher is about to begin";
    default:
      break;
  }
  const ProviderFacts* provider = facts_of(knowledge, node.provider.value_or(""));
  const bool can_go_on =
      node.state == NodeState::building && provider != nullptr && makes_machines(*provider);
  if (!locked && can_go_on) {
    return "nobody has locked it: a launcher goes on with it if its request is still there, else "
           "its machine is deleted";
  }
  if (!locked) return "nobody has locked it: its provider takes it back";
  switch (node.state) {
    case NodeState::building:
    case NodeState::testing:
      return can_go_on ? "it is being launched; if its launcher dies another one goes on"
                       : "it is being launched; if its launcher dies it is taken back";
    case NodeState::in_use:
      return "it is taken back when its requestor unlocks it";
    case NodeState::deleting:
    case NodeState::deleted:
      return "its provider is taking it back";
    default:
      return "its provider takes it back once it is unlocked";
  }
}

// --- labels

void explain_pool_of_label(Statements& to, const ExplanationFacts& knowledge, const Component& pool,
                           const std::string& label) {
  std::map<std::string_view, std::size_t> by_state;
  for (const std::string& id : knowledge.nodes.of_provider(pool.provider_name)) {
    const Node& node = *knowledge.nodes.find(id);
    if (node.pool == pool.name && node.has_label(label)) ++by_state[to_string(node.state)];
  }
  std::vector<std::string> counts;
  counts.reserve(by_state.size());
  for (const auto& [state, count] : by_state) counts.push_back(fmt::format("{} {}", count, state));
  Statements& details =
      say(to, "pool",
          fmt::format("{} on {}: priority {}{}", pool_name(pool), pool.hostname, pool.priority,
                      pool.paused ? ", paused: it has no room" : ""))
          .details;
  const bool is_silent = sign_of_silence(knowledge, pool).has_value();
  say(details, "nodes",
      fmt::format("nodes: {}; {} {}",
                  counts.empty() ? "none" : fmt::format("{}", fmt::join(counts, ", ")),
                  knowledge.nodes.free(pool.provider_name, pool.name, label).size(),
                  is_silent ? "are free" : "can be handed out now"));
  explain_silence(details, knowledge, pool);
  explain_hosts(details, knowledge, pool, label);
  if (const ProviderFacts* provider = facts_of(knowledge, pool.provider_name)) {
    explain_room(details, records_of(knowledge), *provider, pool, {label});
  }
}

void explain_absence(Statements& to, const ExplanationFacts& knowledge, const std::string& label) {
  const auto ready = std::ranges::count_if(knowledge.nodes.all(), [&label](const auto& entry) {
    return entry.second.state == NodeState::ready && entry.second.has_label(label);
  });
  if (knowledge.pools.empty()) {
    say_that_no_pool_is_registered(to);
  } else {
    say(to, "not-offered",
        fmt::format("No registered pool offers it: {}.", fate_without_pool(knowledge, label)));
  }
  if (ready > 0) {
    say(to, "idle-nodes", fmt::format("{} node(s) are ready, and nobody hands them out.", ready));
  }
}

Explanation explain_node_within(const ExplanationFacts& knowledge, const Node& node, int depth);
Explanation explain_request_within(const ExplanationFacts& knowledge, const NodeRequest& request,
                                   int depth);

// What stands behind a node, down to the machine.
void explain_behind(Explanation& to, const ExplanationFacts& knowledge, const Node& node,
                    int depth) {
  if (depth >= kDeepest) return;
  const Behind chain = behind(knowledge, node);
  if (chain.node != nullptr) {
    to.others.push_back(explain_node_within(knowledge, *chain.node, depth + 1));
  }
  for (const NodeRequest* request : chain.requests) {
    to.others.push_back(explain_request_within(knowledge, *request, depth + 1));
  }
}

Explanation explain_request_within(const ExplanationFacts& knowledge, const NodeRequest& request,
                                   int depth) {
  Explanation explanation;
  Statements& statements = explanation.statements;
  Statements& facts =
      say(statements, "request",
          fmt::format("Request {} is {} for {}", request.id, to_string(request.state),
                      duration_text(knowledge.now - request.state_time)))
          .details;
  say_of(facts, "wants",
         fmt::format("{}{}", fmt::join(request.node_types, ", "),
                     request.reuse ? "" : " (new nodes only)"));
  say_of(facts, "by", request.requestor.value_or(""));
  say_of(facts, "tenant", request.tenant_name.value_or(""));
  say_of(facts, "prefers", request.provider.value_or(""));
  switch (request.state) {
    case RequestState::requested:
      say_of(facts, "position", position_in_queue(knowledge, request));
      explain_pools(statements, knowledge, request);
      explain_wait_for_pools(statements, knowledge, request);
      break;
    case RequestState::pending:
      explain_nodes(say(statements, "nodes", "A launcher works on it:").details, knowledge,
                    request.id);
      break;
    case RequestState::fulfilled:
      explain_nodes(
          say(statements, "nodes", "Its requestor is to take its nodes and to remove it:").details,
          knowledge, request.id);
      break;
    case RequestState::failed: {
      Statements& pools = say(statements, "failed", "Every pool has declined it:").details;
      for (const auto& [pool, reason] : request.decline_reasons) {
        say(say(pools, "pool", pool).details, "declined", reason);
      }
      break;
    }
  }
  for (const std::string& id : knowledge.nodes.allocated_to(request.id)) {
    explain_behind(explanation, knowledge, *knowledge.nodes.find(id), depth);
  }
  return explanation;
}

Explanation explain_node_within(const ExplanationFacts& knowledge, const Node& node, int depth) {
  Explanation explanation;
  const bool locked = knowledge.nodes.is_locked(node.id);
  Statements& facts = say(explanation.statements, "node",
                          fmt::format("Node {} is {} for {}, {}", node.id, to_string(node.state),
                                      duration_text(knowledge.now - node.state_time),
                                      locked ? "locked" : "unlocked"))
                          .details;
  say_of(facts, "labels", fmt::format("{}", fmt::join(node.type, ", ")));
  say_of(facts, "pool", fmt::format("{}-{}", node.provider.value_or("?"), node.pool.value_or("?")));
  say_of(facts, "host", node.hostname.value_or(node.interface_ip.value_or("")));
  say_of(facts, "launcher", "launched by", node.launcher.value_or(""));
  if (node.allocated_to) {
    const NodeRequest* request = knowledge.requests.find(*node.allocated_to);
    say_of(facts, "request",
           fmt::format("{}, which is {}", *node.allocated_to,
                       request == nullptr ? "gone" : to_string(request->state)));
  }
  say_of(facts, "tenant", node.tenant_name.value_or(""));
  say_of(facts, "requestor", node.requestor.value_or(""));
  if (const std::optional<model::Lease> lease = model::lease_of(node)) {
    say_of(facts, "lease",
           fmt::format("{} of {}, for another {}", lease->id, lease->holder,
                       duration_text(lease->expires - knowledge.now)));
  }
  say_of(facts, "comment", node.comment.value_or(""));
  explain_launch(facts, records_of(knowledge), facts_of(knowledge, node.provider.value_or("")),
                 node);
  explain_failed_attempts(facts, knowledge, node);
  explain_backing(facts, knowledge, node);
  say_of(facts, "next", what_next(knowledge, node, locked));
  explain_behind(explanation, knowledge, node, depth);
  return explanation;
}

}  // namespace

Explanation explain_request(const ExplanationFacts& knowledge, const NodeRequest& request) {
  return explain_request_within(knowledge, request, 0);
}

Explanation explain_node(const ExplanationFacts& knowledge, const Node& node) {
  return explain_node_within(knowledge, node, 0);
}

Explanation explain_label(const ExplanationFacts& knowledge, const std::string& label) {
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
  if (!is_offered) explain_absence(statements, knowledge, label);

  std::size_t waiting = 0;
  for (const auto& [order, id] : knowledge.requests.waiting()) {
    const NodeRequest& request = *knowledge.requests.find(id);
    const auto& labels = request.node_types;
    if (std::ranges::find(labels, label) == labels.end()) continue;
    if (++waiting > kMostRequests) continue;
    explanation.others.push_back(explain_request(knowledge, request));
  }
  explanation.omitted = waiting - explanation.others.size();
  say(statements, "waiting", fmt::format("{} request(s) wait for it", waiting));
  return explanation;
}

}  // namespace nodepool::report
