#include "report/explanation/leases.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <optional>

#include "model/lease.h"

namespace nodepool::report {

namespace {

using model::Lease;
using model::NodeState;

// The lease with this id if it still holds the node.
std::optional<Lease> holding(const model::Node& node, const std::string& id) {
  if (node.state != NodeState::in_use) return std::nullopt;
  std::optional<Lease> lease = model::lease_of(node);
  if (lease && lease->id != id) lease.reset();
  return lease;
}

// The id of a lease is the id of its request, to which its nodes are allocated.
std::optional<Lease> find_lease(const ExplanationFacts& knowledge, const std::string& id) {
  for (const std::string& node : knowledge.nodes.allocated_to(id)) {
    if (std::optional<Lease> lease = holding(*knowledge.nodes.find(node), id)) return lease;
  }
  return std::nullopt;
}

}  // namespace

bool knows_lease(const ExplanationFacts& knowledge, const std::string& id) {
  return find_lease(knowledge, id).has_value();
}

std::optional<double> next_lease_end(const ExplanationFacts& knowledge,
                                     const model::Component& pool,
                                     const std::vector<std::string>& labels) {
  std::optional<double> first;
  for (const std::string& id : knowledge.nodes.of_provider(pool.provider_name)) {
    const model::Node& node = *knowledge.nodes.find(id);
    const bool is_wanted =
        node.state == NodeState::in_use && node.pool == pool.name &&
        std::ranges::any_of(labels, [&node](const auto& label) { return node.has_label(label); });
    const std::optional<Lease> lease = is_wanted ? model::lease_of(node) : std::nullopt;
    if (lease) first = std::min(first.value_or(lease->expires), lease->expires);
  }
  return first;
}

Explanation explain_lease(const ExplanationFacts& knowledge, const std::string& id) {
  Explanation explanation;
  const std::optional<Lease> lease = find_lease(knowledge, id);
  if (!lease) return explanation;
  const double left = lease->expires - knowledge.now;
  Statements& facts = say(explanation.statements, "lease",
                          left > 0 ? fmt::format("Lease {} expires in {}", id, duration_text(left))
                                   : fmt::format("Lease {} has expired", id))
                          .details;
  say_of(facts, "holder", lease->holder);
  for (const std::string& node_id : knowledge.nodes.allocated_to(id)) {
    const model::Node& node = *knowledge.nodes.find(node_id);
    say_of(facts, "node", "node",
           fmt::format("{} ({}) is {} for {}{}", node.id, fmt::join(node.type, ", "),
                       to_string(node.state), duration_text(knowledge.now - node.state_time),
                       holding(node, id) ? "" : ": no longer held by the lease"));
  }
  say_of(facts, "next",
         left > 0 ? "its nodes are reclaimed when it expires or is released; `nodepool renew " +
                        id + "` extends it"
                  : "a launcher that serves its nodes reclaims them");
  return explanation;
}

}  // namespace nodepool::report
