#include "drivers/static_nodes/slot_plan.h"

#include <algorithm>
#include <iterator>
#include <optional>

namespace nodepool::drivers::static_nodes {

using model::Node;
using model::NodeState;

bool SlotPlan::is_missing(std::int64_t slot) const {
  return std::ranges::find(missing, slot) != missing.end();
}

bool is_placeable(const Node& node) {
  return node.state != NodeState::building && node.state != NodeState::deleting;
}

SlotPlan plan_slots(std::int64_t slots, const std::vector<const Node*>& nodes) {
  std::vector<bool> taken(static_cast<std::size_t>(std::max<std::int64_t>(slots, 0)), false);
  // The node's own slot, if it exists and is free.
  const auto own_slot = [&taken](const Node& node) -> std::optional<std::size_t> {
    if (!node.slot || *node.slot < 0) return std::nullopt;
    const auto slot = static_cast<std::size_t>(*node.slot);
    return slot < taken.size() && !taken[slot] ? std::optional(slot) : std::nullopt;
  };
  SlotPlan plan;
  std::vector<const Node*> homeless;
  for (const Node* node : nodes) {
    if (!is_placeable(*node)) continue;
    if (const auto slot = own_slot(*node)) {
      taken[*slot] = true;
      plan.placed.push_back(node->id);
    } else {
      homeless.push_back(node);
    }
  }
  for (const Node* node : homeless) {
    const auto free = std::ranges::find(taken, false);
    if (free == taken.end()) {
      plan.surplus.push_back(node->id);
    } else {
      *free = true;
      plan.moved.emplace(node->id, std::distance(taken.begin(), free));
      plan.placed.push_back(node->id);
    }
  }
  for (const Node* node : nodes) {
    if (node->state != NodeState::deleting) continue;
    if (const auto slot = own_slot(*node)) taken[*slot] = true;
  }
  for (std::size_t slot = 0; slot < taken.size(); ++slot) {
    if (!taken[slot]) plan.missing.push_back(static_cast<std::int64_t>(slot));
  }
  return plan;
}

}  // namespace nodepool::drivers::static_nodes
