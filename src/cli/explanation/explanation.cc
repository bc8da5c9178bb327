#include "cli/explanation/explanation.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>

#include "cli/explanation/hosts.h"
#include "cli/explanation/silent_pools.h"
#include "cli/explanation/text.h"
#include "model/lease.h"
#include "planning/decision.h"

namespace nodepool::cli {

namespace {

using model::Component;
using model::Node;
using model::NodeRequest;
using model::NodeState;
using model::RequestState;
using planning::Decision;

// Of those that wait for a label.
constexpr std::size_t kMostRequests = 10;

std::string pool_name(const Component& pool) {
  return pool.provider_name + "-" + pool.name;
}

bool shares_label(const NodeRequest& request, const NodeRequest& other) {
  return std::ranges::any_of(request.node_types, [&other](const std::string& label) {
    return std::ranges::find(other.node_types, label) != other.node_types.end();
  });
}

MachineRecords records_of(const Knowledge& knowledge) {
  return {knowledge.now, knowledge.nodes, knowledge.images};
}

// nullptr if this host does not configure it.
const ProviderFacts* facts_of(const Knowledge& knowledge, std::string_view provider) {
  const auto found = knowledge.providers.find(provider);
  return found == knowledge.providers.end() ? nullptr : &found->second;
}

std::string place_in_line(const Knowledge& knowledge, const NodeRequest& request) {
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
// -------------------------------------------------------------

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

std::string free_nodes(const Knowledge& knowledge, const NodeRequest& request,
                       const Component& pool) {
  std::vector<std::string> counts;
  for (const std::string& label : request.node_types) {
    const std::string count = fmt::format(
        "{} {}", knowledge.nodes.free(pool.provider_name, pool.name, label).size(), label);
    if (std::ranges::find(counts, count) == counts.end()) counts.push_back(count);
  }
  return fmt::format("free nodes: {}", fmt::join(counts, ", "));
}

std::string pool_says(const Knowledge& knowledge, const NodeRequest& request,
                      const std::vector<history::Entry>& history, const Component& pool) {
  if (const auto reason = request.decline_reasons.find(pool.id);
      reason != request.decline_reasons.end()) {
    return "declined: " + reason->second;
  }
  if (request.declined(pool.id)) return "declined, without a reason in the record";
  const auto screened = planning::screen(request, {&pool, /*max_concurrency=*/-1}, knowledge.pools);
  if (screened) {
    return fmt::format("{} (until {})", sentence(screened->reason), to_string(screened->until));
  }
  const std::optional<history::Entry> last = last_decision(history, pool);
  if (last) {
    return fmt::format("{}; decided {} ago", last->details,
                       duration_text(knowledge.now - last->time));
  }
  return fmt::format("{}; no decision of this pool is written down on this host",
                     free_nodes(knowledge, request, pool));
}

void explain_silence(Text& text, const Knowledge& knowledge, const Component& pool) {
  if (const auto sign = sign_of_silence(knowledge, pool)) text.line("    " + *sign);
}

void explain_pools(Text& text, const Knowledge& knowledge, const NodeRequest& request) {
  if (knowledge.pools.empty()) {
    text.line("No pool is registered: no launcher runs, or none has a provider.");
    return;
  }
  const std::vector<history::Entry> history = knowledge.history(request.id);
  text.line("Pools");
  for (const Component* pool : knowledge.pools) {
    const std::string paused = pool->paused ? " (paused: it has no room)" : "";
    text.line(fmt::format("  {} on {}{}", pool_name(*pool), pool->hostname, paused));
    text.line("    " + pool_says(knowledge, request, history, *pool));
    explain_silence(text, knowledge, *pool);
    const ProviderFacts* provider = facts_of(knowledge, pool->provider_name);
    if (provider != nullptr && pool->supports(request.node_types)) {
      explain_room(text, records_of(knowledge), *provider, *pool, request.node_types);
    }
  }
}

void explain_nodes(Text& text, const Knowledge& knowledge, const std::string& request_id) {
  for (const std::string& id : knowledge.nodes.allocated_to(request_id)) {
    const Node& node = *knowledge.nodes.find(id);
    text.fact("node " + id, fmt::format("{} for {} ({})", to_string(node.state),
                                        duration_text(knowledge.now - node.state_time),
                                        fmt::join(node.type, ", ")));
    explain_launch(text, records_of(knowledge), facts_of(knowledge, node.provider.value_or("")),
                   node);
  }
}

// --- what becomes of a node
// -----------------------------------------------------------------------

// Why nobody does anything with the node; nothing if somebody does.
std::optional<std::string> neglect(const Knowledge& knowledge, const Node& node) {
  std::optional<std::string> sign;
  for (const Component* pool : knowledge.pools) {
    if (pool->provider_name != node.provider) continue;
    const auto silence = sign_of_silence(knowledge, *pool);
    if (!silence) return std::nullopt;
    sign = fmt::format("nothing as it seems: {} {}", pool_name(*pool), *silence);
  }
  return sign ? sign : "no registered launcher serves its provider: nothing";
}

std::string hold_ends(const Knowledge& knowledge, const Node& node) {
  std::optional<std::int64_t> limit = knowledge.config.max_hold_age;
  if (limit && *limit <= 0) limit.reset();
  if (node.hold_expiration && *node.hold_expiration > 0) {
    limit = std::min(limit.value_or(*node.hold_expiration), *node.hold_expiration);
  }
  if (!limit) return "it is kept until somebody deletes it";
  const double left = node.state_time + static_cast<double>(*limit) - knowledge.now;
  return fmt::format("it is kept for another {}", duration_text(left));
}

std::string ready_ends(const Knowledge& knowledge, const Node& node) {
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

std::string what_next(const Knowledge& knowledge, const Node& node, bool locked) {
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
// ---------------------------------------------------------------------------------------

void explain_pool_of_label(Text& text, const Knowledge& knowledge, const Component& pool,
                           const std::string& label) {
  std::map<std::string_view, std::size_t> by_state;
  for (const std::string& id : knowledge.nodes.of_provider(pool.provider_name)) {
    const Node& node = *knowledge.nodes.find(id);
    if (node.pool == pool.name && node.has_label(label)) ++by_state[to_string(node.state)];
  }
  std::vector<std::string> counts;
  for (const auto& [state, count] : by_state) counts.push_back(fmt::format("{} {}", count, state));
  text.line(fmt::format("  {} on {}: priority {}{}", pool_name(pool), pool.hostname, pool.priority,
                        pool.paused ? ", paused: it has no room" : ""));
  const bool is_silent = sign_of_silence(knowledge, pool).has_value();
  text.line(fmt::format("    nodes: {}; {} {}",
                        counts.empty() ? "none" : fmt::format("{}", fmt::join(counts, ", ")),
                        knowledge.nodes.free(pool.provider_name, pool.name, label).size(),
                        is_silent ? "are free" : "can be handed out now"));
  explain_silence(text, knowledge, pool);
  explain_hosts(text, knowledge, pool, label);
  if (const ProviderFacts* provider = facts_of(knowledge, pool.provider_name)) {
    explain_room(text, records_of(knowledge), *provider, pool, {label});
  }
}

void explain_absence(Text& text, const Knowledge& knowledge, const std::string& label) {
  const auto ready = std::ranges::count_if(knowledge.nodes.all(), [&label](const auto& entry) {
    return entry.second.state == NodeState::ready && entry.second.has_label(label);
  });
  if (knowledge.pools.empty()) {
    text.line("No pool is registered: no launcher runs, or none has a provider.");
  } else {
    text.line("No registered pool offers it: requests for it fail.");
  }
  if (ready > 0) text.line(fmt::format("{} node(s) are ready, and nobody hands them out.", ready));
}

}  // namespace

std::vector<std::string> explain_request(const Knowledge& knowledge, const NodeRequest& request) {
  Text text;
  text.line(fmt::format("Request {} is {} for {}", request.id, to_string(request.state),
                        duration_text(knowledge.now - request.state_time)));
  text.fact("wants", fmt::format("{}{}", fmt::join(request.node_types, ", "),
                                 request.reuse ? "" : " (new nodes only)"));
  text.fact("by", request.requestor.value_or(""));
  text.fact("tenant", request.tenant_name.value_or(""));
  text.fact("prefers", request.provider.value_or(""));
  switch (request.state) {
    case RequestState::requested:
      text.fact("place", place_in_line(knowledge, request));
      explain_pools(text, knowledge, request);
      break;
    case RequestState::pending:
      text.line("A launcher works on it:");
      explain_nodes(text, knowledge, request.id);
      break;
    case RequestState::fulfilled:
      text.line("Its requestor is to take its nodes and to remove it:");
      explain_nodes(text, knowledge, request.id);
      break;
    case RequestState::failed:
      text.line("Every pool has declined it:");
      for (const auto& [pool, reason] : request.decline_reasons) {
        text.line(fmt::format("  {}", pool));
        text.line("    " + reason);
      }
      break;
  }
  return std::move(text).lines();
}

std::vector<std::string> explain_node(const Knowledge& knowledge, const Node& node) {
  Text text;
  const bool locked = knowledge.nodes.is_locked(node.id);
  text.line(fmt::format("Node {} is {} for {}, {}", node.id, to_string(node.state),
                        duration_text(knowledge.now - node.state_time),
                        locked ? "locked" : "unlocked"));
  text.fact("labels", fmt::format("{}", fmt::join(node.type, ", ")));
  text.fact("pool", fmt::format("{}-{}", node.provider.value_or("?"), node.pool.value_or("?")));
  text.fact("host", node.hostname.value_or(node.interface_ip.value_or("")));
  text.fact("launched by", node.launcher.value_or(""));
  if (node.allocated_to) {
    const NodeRequest* request = knowledge.requests.find(*node.allocated_to);
    text.fact("request", fmt::format("{}, which is {}", *node.allocated_to,
                                     request == nullptr ? "gone" : to_string(request->state)));
  }
  text.fact("tenant", node.tenant_name.value_or(""));
  text.fact("requestor", node.requestor.value_or(""));
  if (const std::optional<model::Lease> lease = model::lease_of(node)) {
    text.fact("lease", fmt::format("{} of {}, for another {}", lease->id, lease->holder,
                                   duration_text(lease->expires - knowledge.now)));
  }
  text.fact("comment", node.comment.value_or(""));
  explain_launch(text, records_of(knowledge), facts_of(knowledge, node.provider.value_or("")),
                 node);
  text.fact("next", what_next(knowledge, node, locked));
  return std::move(text).lines();
}

std::vector<std::string> explain_label(const Knowledge& knowledge, const std::string& label) {
  Text text;
  text.line("Label " + label);
  if (const auto found = knowledge.config.labels.find(label);
      found != knowledge.config.labels.end() && found->second.min_ready > 0) {
    text.fact("min-ready", std::to_string(found->second.min_ready));
  }
  bool is_offered = false;
  for (const Component* pool : knowledge.pools) {
    if (!pool->supports(label)) continue;
    is_offered = true;
    explain_pool_of_label(text, knowledge, *pool, label);
  }
  if (!is_offered) explain_absence(text, knowledge, label);

  std::vector<const NodeRequest*> waiting;
  for (const auto& [order, id] : knowledge.requests.waiting()) {
    const NodeRequest* request = knowledge.requests.find(id);
    const auto& labels = request->node_types;
    if (std::ranges::find(labels, label) != labels.end()) waiting.push_back(request);
  }
  text.line(fmt::format("{} request(s) wait for it", waiting.size()));
  for (std::size_t i = 0; i < std::min(waiting.size(), kMostRequests); ++i) {
    text.line("");
    for (std::string& line : explain_request(knowledge, *waiting[i])) text.line(std::move(line));
  }
  if (waiting.size() > kMostRequests) {
    text.line(fmt::format("\n… and {} more", waiting.size() - kMostRequests));
  }
  return std::move(text).lines();
}

}  // namespace nodepool::cli
