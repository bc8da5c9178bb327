#include "report/explanation/explanation.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <ranges>
#include <utility>

#include "model/lease.h"
#include "planning/decision.h"
#include "report/explanation/backing.h"
#include "report/explanation/departed_pools.h"
#include "report/explanation/hosts.h"
#include "report/explanation/leases.h"
#include "report/explanation/pending_requests.h"
#include "report/explanation/pool_decisions.h"
#include "report/explanation/silent_pools.h"
#include "report/launch_text.h"

namespace nodepool::report {

namespace {

using model::Component;
using model::Node;
using model::NodeRequest;
using model::NodeState;
using model::RequestState;

// The most levels of backing nodes that are followed. Bounds cycles in the records.
constexpr int kDeepest = 4;

// The most pools that are named in one line.
constexpr std::size_t kMostPools = 10;

bool shares_label(const NodeRequest& request, const NodeRequest& other) {
  return std::ranges::any_of(request.node_types, [&other](const std::string& label) {
    return std::ranges::find(other.node_types, label) != other.node_types.end();
  });
}

// The waiting requests before this one, and those of them that share a label with it.
struct Ahead {
  std::size_t all = 0;
  std::size_t rivals = 0;
};

Ahead ahead_of(const ExplanationFacts& knowledge, const NodeRequest& request) {
  Ahead ahead;
  for (const auto& [key, id] : knowledge.requests.waiting()) {
    if (id == request.id) break;
    ++ahead.all;
    if (shares_label(request, *knowledge.requests.find(id))) ++ahead.rivals;
  }
  return ahead;
}

std::string position_in_queue(const ExplanationFacts& knowledge, const Ahead& ahead) {
  return fmt::format("{} of {} waiting requests; {} the same label", ahead.all + 1,
                     knowledge.requests.waiting().size(),
                     ahead.rivals == 1 ? "1 request ahead wants"
                                       : fmt::format("{} requests ahead want", ahead.rivals));
}

// How long most of the last requests for the same labels have waited.
struct UsualWait {
  std::size_t requests = 0;
  std::string labels;
  double seconds = 0;
};

// Returns nothing if there are too few to tell.
std::optional<UsualWait> usual_wait(const ExplanationFacts& knowledge, const NodeRequest& request) {
  constexpr std::size_t kFewest = 3;
  std::vector<std::string> labels = request.node_types;
  std::ranges::sort(labels);
  const auto waits = knowledge.waits.find(labels);
  if (waits == knowledge.waits.end() || waits->second.size() < kFewest) return std::nullopt;
  return UsualWait{waits->second.size(), fmt::format("{}", fmt::join(labels, ", ")),
                   std::max(1.0, history::usual_wait(waits->second))};
}

// "most of the last 12 requests for small were served within 0:00:41".
std::string text_of(const UsualWait& usual) {
  return fmt::format("most of the last {} requests for {} were served within {}", usual.requests,
                     usual.labels, duration_text(usual.seconds));
}

// "2 ahead for the same label; usually served within 0:04:10". The usual wait promises nothing to a
// request that has waited longer.
std::string estimate(const ExplanationFacts& knowledge, const NodeRequest& request,
                     const Ahead& ahead, const UsualWait& usual) {
  const bool is_late = knowledge.now - request.stat.created() > usual.seconds;
  return fmt::format("{} ahead for the same label; {} {}",
                     ahead.rivals == 0 ? "none" : std::to_string(ahead.rivals),
                     is_late ? "waits longer than usual, which is" : "usually served within",
                     duration_text(usual.seconds));
}

// The names of the first pools.
std::string first_titles(const std::vector<const Component*>& pools) {
  std::vector<std::string> titles;
  for (const Component* pool : pools | std::views::take(kMostPools)) {
    titles.push_back(pool_title(*pool));
  }
  return fmt::format("{}{}", fmt::join(titles, ", "), pools.size() > kMostPools ? ", …" : "");
}

// Returns the leases that hold the nodes of the pool that `reason` names first; empty: no end of
// one is known.
std::string explain_pools(Statements& to, const ExplanationFacts& knowledge,
                          const NodeRequest& request,
                          const std::vector<history::JournalEntry>& history,
                          const ReasonToWait& reason) {
  if (knowledge.pools.empty()) {
    explain_missing_pools(to, knowledge);
    return {};
  }
  std::string leases;
  Statement& pools = say(to, "pools", "Pools");
  const std::vector<const Component*> without = pools_without_labels(knowledge, request);
  for (const Component* pool : knowledge.pools) {
    if (std::ranges::find(without, pool) != without.end()) continue;
    const std::string paused = pool->paused ? " (paused: at capacity)" : "";
    Statements& details = say(pools.details, "pool", pool_title(*pool) + paused).details;
    details.push_back(pool_decision(knowledge, request, history, *pool));
    explain_unresponsiveness(details, knowledge, *pool);
    if (!pool->supports(request.node_types)) continue;
    if (!request.declined(pool->id)) {
      std::string held_by = explain_use(details, knowledge, *pool, request.node_types,
                                        reason_of_decision(knowledge, request, history, *pool));
      const bool is_named = reason.text.starts_with(pool_title(*pool) + " ");
      if (leases.empty() && is_named) leases = std::move(held_by);
      explain_hosts(details, knowledge, *pool, request.node_types);
    }
    if (const ProviderFacts* provider = knowledge.provider(pool->provider_name)) {
      explain_capacity(details, knowledge.machine_records(), *provider, *pool, request.node_types);
    }
  }
  if (!without.empty()) {
    say(pools.details, "not-offered",
        fmt::format("{} pool(s) without its labels: {}", without.size(), first_titles(without)));
  }
  return leases;
}

// The failed launch attempts in the journal of this host, and the command that shows their traces.
void explain_failed_attempts(Statements& to, const ExplanationFacts& knowledge, const Node& node) {
  const std::vector<history::JournalEntry> history = knowledge.history(node.id).entries;
  std::size_t failed = 0;
  const history::JournalEntry* last = nullptr;
  for (const history::JournalEntry& entry : history) {
    const auto* attempt = std::get_if<history::Attempted>(&entry.facts);
    if (attempt == nullptr || attempt->failure.empty()) continue;
    ++failed;
    last = &entry;
  }
  if (last == nullptr) return;
  say(to, "failed-attempts",
      fmt::format("{} launch attempt(s) failed, the last {} ago: {} (details: `nodepool history "
                  "{}`)",
                  failed, duration_text(knowledge.now - last->time), last->details, node.id));
}

// The failures of the node's provider to reclaim it, in the journal of this host.
void explain_failed_reclaims(Statements& to, const ExplanationFacts& knowledge, const Node& node) {
  if (node.state != NodeState::deleting) return;
  std::vector<history::JournalEntry> failures = knowledge.history(node.id).entries;
  std::erase_if(failures, [](const auto& entry) { return entry.event != "reclaim-failed"; });
  if (failures.empty()) return;
  say(to, "reclaim-failed",
      fmt::format("its provider has failed to reclaim it for {}, and retries: {}",
                  duration_text(knowledge.now - failures.front().time), failures.back().details));
}

void explain_nodes(Statements& to, const ExplanationFacts& knowledge,
                   const std::string& request_id) {
  for (const std::string& id : knowledge.nodes.allocated_to(request_id)) {
    const Node& node = *knowledge.nodes.find(id);
    say_of(to, "node", "node " + id,
           fmt::format("{} for {} ({})", to_string(node.state),
                       duration_text(knowledge.now - node.state_time), fmt::join(node.type, ", ")));
    explain_launch(to, knowledge.machine_records(), knowledge.provider(node.provider.value_or("")),
                   node);
    explain_failed_attempts(to, knowledge, node);
    explain_backing(to, knowledge, node);
  }
}

// --- what happens to a node next

// Why no launcher handles the node. Returns nothing if one does.
std::optional<std::string> why_unattended(const ExplanationFacts& knowledge, const Node& node) {
  std::optional<std::string> sign;
  for (const Component* pool : knowledge.pools) {
    if (pool->provider_name != node.provider) continue;
    const auto reason = why_unresponsive(knowledge, *pool);
    if (!reason) return std::nullopt;
    sign = fmt::format("probably nothing: {} {}", pool_title(*pool), *reason);
  }
  return sign ? sign : "nothing: no registered launcher serves its provider";
}

std::string end_of_hold(const ExplanationFacts& knowledge, const Node& node) {
  std::optional<std::int64_t> limit = knowledge.config.max_hold_age;
  if (limit && *limit <= 0) limit.reset();
  if (node.hold_expiration && *node.hold_expiration > 0) {
    limit = std::min(limit.value_or(*node.hold_expiration), *node.hold_expiration);
  }
  if (!limit) return "it is kept until an operator deletes it";
  const double left = node.state_time + static_cast<double>(*limit) - knowledge.now;
  return fmt::format("it is kept for {} more", duration_text(left));
}

std::string end_of_ready(const ExplanationFacts& knowledge, const Node& node) {
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
  if (const auto reason = why_unattended(knowledge, node)) return *reason;
  switch (node.state) {
    case NodeState::ready: {
      if (!node.allocated_to) return end_of_ready(knowledge, node);
      if (knowledge.requests.find(*node.allocated_to) == nullptr) {
        return locked ? "its requestor holds its lock, and uses or releases it"
                      : "its request no longer exists: it becomes free";
      }
      return "its request is fulfilled: it waits for its requestor to lock it";
    }
    case NodeState::hold:
      return locked ? "the process that holds its lock decides" : end_of_hold(knowledge, node);
    case NodeState::init:
      return "its launcher is about to start the launch";
    default:
      break;
  }
  const ProviderFacts* provider = knowledge.provider(node.provider.value_or(""));
  const bool is_resumable =
      node.state == NodeState::building && provider != nullptr && launches_machines(*provider);
  if (!locked && is_resumable) {
    return "it is unlocked: a launcher resumes its launch if its request still exists; otherwise "
           "its machine is deleted";
  }
  if (!locked) return "it is unlocked: its provider reclaims it";
  switch (node.state) {
    case NodeState::building:
    case NodeState::testing:
      return is_resumable
                 ? "it is being launched; if its launcher dies, another one resumes the launch"
                 : "it is being launched; if its launcher dies, it is reclaimed";
    case NodeState::in_use:
      return "it is reclaimed when its requestor unlocks it";
    case NodeState::deleting:
    case NodeState::deleted:
      return "its provider is reclaiming it";
    default:
      return "its provider reclaims it once it is unlocked";
  }
}

Explanation explain_node_within(const ExplanationFacts& knowledge, const Node& node, int depth);
Explanation explain_request_within(const ExplanationFacts& knowledge, const NodeRequest& request,
                                   int depth);

// The backing nodes of a node, down to the machine.
void explain_backing_chain(Explanation& to, const ExplanationFacts& knowledge, const Node& node,
                           int depth) {
  if (depth >= kDeepest) return;
  const BackingState chain = backing_state(knowledge, node);
  if (chain.node != nullptr && is_visible(knowledge.may_name, chain.node->id)) {
    to.others.push_back(explain_node_within(knowledge, *chain.node, depth + 1));
  }
  for (const NodeRequest* request : chain.requests) {
    if (!is_visible(knowledge.may_name, request->id)) continue;
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
  const std::vector<history::JournalEntry> history = knowledge.history(request.id).entries;
  const ReasonToWait reason = reason_to_wait(knowledge, request, history);
  say_of(facts, "reason", reason.text);
  say_of(facts, "advice", reason.advice);
  const std::optional<UsualWait> usual = usual_wait(knowledge, request);
  if (!reason.text.empty() && usual) say_of(facts, "usually", text_of(*usual));
  switch (request.state) {
    case RequestState::requested: {
      const Ahead ahead = ahead_of(knowledge, request);
      say_of(facts, "position", position_in_queue(knowledge, ahead));
      if (usual) say_of(facts, "estimate", estimate(knowledge, request, ahead, *usual));
      std::string leases = explain_pools(statements, knowledge, request, history, reason);
      say_of(statements.front().details, "held-by", "held by", std::move(leases));
      explain_wait_for_pools(statements, knowledge, request, history);
      break;
    }
    case RequestState::pending:
      explain_nodes(
          say(statements, "nodes",
              is_interrupted(knowledge, request) ? "Its nodes:" : "A launcher is serving it:")
              .details,
          knowledge, request.id);
      break;
    case RequestState::fulfilled:
      explain_nodes(
          say(statements, "nodes", "It waits for its requestor to lock its nodes and to delete it:")
              .details,
          knowledge, request.id);
      break;
    case RequestState::failed: {
      Statements& pools = say(statements, "failed", "Every pool has declined it:").details;
      for (const auto& [pool, reason] : request.decline_reasons) {
        say(say(pools, "pool", model::pool_title(pool)).details, "declined", decline_text(reason));
      }
      break;
    }
  }
  for (const std::string& id : knowledge.nodes.allocated_to(request.id)) {
    explain_backing_chain(explanation, knowledge, *knowledge.nodes.find(id), depth);
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
           request == nullptr
               ? *node.allocated_to + ", which no longer exists"
               : fmt::format("{}, which is {}", *node.allocated_to, to_string(request->state)));
  }
  say_of(facts, "tenant", node.tenant_name.value_or(""));
  say_of(facts, "requestor", node.requestor.value_or(""));
  // Afterwards, the record still has the lease that has ended.
  const std::optional<model::Lease> lease = model::lease_of(node);
  if (lease && node.state == NodeState::in_use) {
    say_of(facts, "lease",
           fmt::format("{} of {}, expires in {}", lease->id, lease->holder,
                       duration_text(lease->expires - knowledge.now)));
  }
  say_of(facts, "comment", node.comment.value_or(""));
  explain_launch(facts, knowledge.machine_records(), knowledge.provider(node.provider.value_or("")),
                 node);
  explain_failed_attempts(facts, knowledge, node);
  explain_failed_reclaims(facts, knowledge, node);
  explain_backing(facts, knowledge, node);
  say_of(facts, "next", what_next(knowledge, node, locked));
  explain_backing_chain(explanation, knowledge, node, depth);
  return explanation;
}

}  // namespace

const ProviderFacts* ExplanationFacts::provider(std::string_view name) const {
  const auto found = providers.find(name);
  return found == providers.end() ? nullptr : &found->second;
}

MachineRecords ExplanationFacts::machine_records() const {
  return {now, nodes, images, components, usage, may_name};
}

Explanation explain_request(const ExplanationFacts& knowledge, const NodeRequest& request) {
  return explain_request_within(knowledge, request, 0);
}

Explanation explain_node(const ExplanationFacts& knowledge, const Node& node) {
  return explain_node_within(knowledge, node, 0);
}

}  // namespace nodepool::report
