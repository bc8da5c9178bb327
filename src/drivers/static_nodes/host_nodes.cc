#include "drivers/static_nodes/host_nodes.h"

#include <algorithm>

namespace nodepool::drivers::static_nodes {

using model::Node;
using model::NodeState;

namespace {

constexpr std::int64_t kNoSlot = -1;

std::pair<std::int64_t, std::string> index_key(const Node& node) {
  return {node.slot.value_or(kNoSlot), node.id};
}

}  // namespace

void HostNodes::add(const Node& node) {
  records_.insert(index_key(node));
}

void HostNodes::remove(const Node& node) {
  records_.erase(index_key(node));
}

std::vector<const Node*> HostNodes::all() const {
  std::vector<const Node*> nodes;
  nodes.reserve(records_.size());
  for (const auto& [slot, id] : records_) {
    if (const Node* node = table_->find(id)) nodes.push_back(node);
  }
  std::ranges::sort(nodes, {}, &Node::id);
  return nodes;
}

std::vector<const Node*> HostNodes::with_slot(std::int64_t slot) const {
  std::vector<const Node*> nodes;
  for (auto record = records_.lower_bound({slot, {}});
       record != records_.end() && record->first == slot; ++record) {
    if (const Node* node = table_->find(record->second)) nodes.push_back(node);
  }
  return nodes;
}

SlotPlan HostNodes::plan(std::string_view without) const {
  std::vector<const Node*> nodes = all();
  std::erase_if(nodes, [without](const Node* node) { return node->id == without; });
  // A deleting node keeps its slot as well, and is not changed.
  std::vector<Node> unreadable;
  unreadable.reserve(unreadable_.size());
  for (const std::string& id : unreadable_) {
    const Node* node = table_->last_known(id);
    if (node == nullptr) continue;
    unreadable.push_back(*node);
    unreadable.back().state = NodeState::deleting;
    nodes.push_back(&unreadable.back());
  }
  return plan_slots(slots_, nodes);
}

// A record with a slot of its own stays there. The others that can be are placed in vacant slots,
// so a change of theirs, or a slot that becomes vacant, concerns the whole plan.
bool HostNodes::affects_plan(const Node& node) const {
  if (!node.slot || *node.slot < 0 || *node.slot >= slots_) return is_placeable(node);
  const auto is_rival = [&node](const Node* other) {
    return other->id != node.id && is_placeable(*other);
  };
  const bool has_rival = is_placeable(node) && std::ranges::any_of(with_slot(*node.slot), is_rival);
  return has_rival || is_vacant(*node.slot);
}

bool HostNodes::is_vacant(std::int64_t slot) const {
  const auto has_it = [this, slot](const std::string& id) {
    const Node* node = table_->last_known(id);
    return node != nullptr && node->slot == slot;
  };
  const auto counts = [](const Node* node) { return node->state != NodeState::building; };
  return std::ranges::none_of(with_slot(slot), counts) && std::ranges::none_of(unreadable_, has_it);
}

bool HostNodes::is_later(const Node& node) const {
  return node.slot && std::ranges::any_of(with_slot(*node.slot), [&node](const Node* other) {
           return other->id < node.id && is_placeable(*other);
         });
}

}  // namespace nodepool::drivers::static_nodes
