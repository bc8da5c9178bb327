#include "report/explanation/leases.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <iterator>
#include <limits>
#include <optional>
#include <ranges>
#include <set>
#include <string_view>
#include <tuple>
#include <utility>

#include "model/lease.h"
#include "planning/reason.h"
#include "report/explanation/hosts.h"

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

// The most nodes in use, and the most that are being deleted, that are listed for a pool.
constexpr std::size_t kMostUses = 5;

struct Use {
  const model::Node* node = nullptr;
  std::optional<Lease> lease = {};  // nothing: the requestor holds the node without a lease
};

// Seconds since the epoch. Infinite without a lease: it is not known.
double end_of(const Use& use) {
  return use.lease ? use.lease->expires : std::numeric_limits<double>::infinity();
}

bool is_full(std::string_view reason) {
  using Code = planning::Reason::Code;
  return reason == planning::name_of(Code::pool_full) ||
         reason == planning::name_of(Code::provider_full);
}

std::string text_of_use(const ExplanationFacts& knowledge, const Use& use, bool with_labels) {
  const model::Node& node = *use.node;
  const bool is_in_use = node.state == NodeState::in_use;
  std::string text = node_title(knowledge.may_name, node.id);
  std::string holder;
  if (is_visible(knowledge.may_name, node.id)) {
    if (node.hostname) text += " on " + *node.hostname;
    if (is_in_use) holder = use.lease ? use.lease->holder : node.requestor.value_or("");
  }
  if (with_labels) text += fmt::format(" ({})", fmt::join(node.type, ", "));
  text += fmt::format(" is {}", is_in_use ? "in use" : to_string(node.state));
  if (!holder.empty()) text += " by " + holder;
  text += " for " + duration_text(knowledge.now - node.state_time);
  if (use.lease) text += "; its lease expires in " + duration_text(end_of(use) - knowledge.now);
  return text;
}

// Empty if no end is known. The first use ends first.
std::string text_of_ends(const ExplanationFacts& knowledge, const std::vector<Use>& uses) {
  std::set<std::string_view> leases;
  for (const Use& use : uses) {
    if (use.lease) leases.insert(use.lease->id);
  }
  if (leases.empty()) return {};
  const std::string end = duration_text(end_of(uses.front()) - knowledge.now);
  return leases.size() == 1
             ? "1 lease; it ends in " + end
             : fmt::format("{} leases; the first of them ends in {}", leases.size(), end);
}

}  // namespace

bool knows_lease(const ExplanationFacts& knowledge, const std::string& id) {
  return find_lease(knowledge, id).has_value();
}

std::vector<const model::Node*> holders_of(const ExplanationFacts& knowledge,
                                           const model::Component& pool,
                                           const std::vector<std::string>& labels,
                                           std::string_view reason) {
  if (!is_full(reason)) return nodes_with(knowledge, pool, labels);
  const bool is_of_pool = reason == planning::name_of(planning::Reason::Code::pool_full);
  std::vector<const model::Node*> nodes;
  for (const std::string& id : knowledge.nodes.of_provider(pool.provider_name)) {
    const model::Node* node = knowledge.nodes.find(id);
    if (!is_of_pool || node->pool == pool.name) nodes.push_back(node);
  }
  return nodes;
}

std::string explain_use(Statements& to, const ExplanationFacts& knowledge,
                        const model::Component& pool, const std::vector<std::string>& labels,
                        std::string_view reason) {
  const bool of_all_labels = is_full(reason);
  std::vector<const model::Node*> nodes = holders_of(knowledge, pool, labels, reason);
  std::size_t hidden = 0;
  if (of_all_labels) {
    hidden = std::erase_if(nodes, [&knowledge](const model::Node* node) {
      return !is_visible(knowledge.may_name, node->id);
    });
  }
  std::vector<Use> uses;
  for (const model::Node* node : nodes) {
    if (node->state == NodeState::in_use) {
      uses.push_back({node, model::lease_of(*node)});
    } else if (of_all_labels && node->state != NodeState::deleting) {
      uses.push_back({node});
    }
  }
  // A full pool may have thousands.
  const auto shown =
      std::next(uses.begin(), static_cast<std::ptrdiff_t>(std::min(uses.size(), kMostUses)));
  std::ranges::partial_sort(uses, shown, {}, [](const Use& use) {
    return std::tuple(end_of(use), use.node->state != NodeState::in_use,
                      std::string_view(use.node->id));
  });
  if (!uses.empty() && uses.front().lease) {
    say(to, "next-lease-end",
        fmt::format("the next {} expires in {}",
                    of_all_labels ? "of these leases" : "lease of such a node",
                    duration_text(end_of(uses.front()) - knowledge.now)));
  }
  for (const Use& use : uses | std::views::take(kMostUses)) {
    say(to, "node-in-use", text_of_use(knowledge, use, of_all_labels));
  }
  if (uses.size() > kMostUses) {
    say(to, "nodes-in-use",
        fmt::format("… and {} {}", uses.size() - kMostUses,
                    of_all_labels ? "others" : "more nodes are in use"));
  }
  for (const model::Node* node : in_deletion(std::move(nodes)) | std::views::take(kMostUses)) {
    say(to, "node-deleting",
        fmt::format("{} is {} for {}", node_title(knowledge.may_name, node->id),
                    to_string(node->state), duration_text(knowledge.now - node->state_time)));
  }
  if (hidden > 0) {
    say(to, "nodes-of-others",
        hidden == 1 ? "1 node of another client"
                    : fmt::format("{} nodes of other clients", hidden));
  }
  return text_of_ends(knowledge, uses);
}

std::vector<const model::Node*> in_deletion(std::vector<const model::Node*> nodes) {
  std::erase_if(nodes, [](const model::Node* node) { return node->state != NodeState::deleting; });
  std::ranges::sort(nodes, {}, [](const model::Node* node) {
    return std::pair(node->state_time, std::string_view(node->id));
  });
  return nodes;
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
