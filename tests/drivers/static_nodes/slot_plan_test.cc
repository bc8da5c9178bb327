#include "drivers/static_nodes/slot_plan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>

namespace nodepool::drivers::static_nodes {
namespace {

using model::Node;
using model::NodeState;
using testing::ElementsAre;
using testing::IsEmpty;

Node node(std::string id, NodeState state, std::optional<std::int64_t> slot) {
  Node node;
  node.id = std::move(id);
  node.state = state;
  node.slot = slot;
  return node;
}

SlotPlan plan(std::int64_t slots, const std::vector<Node>& nodes) {
  std::vector<const Node*> pointers;
  for (const Node& each : nodes) pointers.push_back(&each);
  return plan_slots(slots, pointers);
}

TEST(SlotPlanTest, a_new_host_lacks_all_its_slots) {
  EXPECT_THAT(plan(3, {}).missing, ElementsAre(0, 1, 2));
  EXPECT_THAT(plan(0, {}).missing, IsEmpty());
  EXPECT_THAT(plan(-1, {}).missing, IsEmpty());
}

TEST(SlotPlanTest, records_in_any_living_state_occupy_their_slots) {
  const SlotPlan result = plan(4, {node("a", NodeState::ready, 0), node("b", NodeState::hold, 2),
                                   node("c", NodeState::in_use, 3)});
  EXPECT_THAT(result.missing, ElementsAre(1));
  EXPECT_THAT(result.placed, ElementsAre("a", "b", "c"));
  EXPECT_THAT(result.surplus, IsEmpty());
}

TEST(SlotPlanTest, a_record_beyond_the_slots_fills_a_free_one_while_there_is_one) {
  const SlotPlan result = plan(2, {node("a", NodeState::in_use, 5), node("b", NodeState::ready, 1),
                                   node("c", NodeState::ready, std::nullopt)});
  EXPECT_THAT(result.placed, ElementsAre("b", "a"));
  EXPECT_THAT(result.surplus, ElementsAre("c"));
  EXPECT_THAT(result.missing, IsEmpty());
}

TEST(SlotPlanTest, of_two_records_of_one_slot_the_later_is_surplus) {
  const SlotPlan result = plan(1, {node("a", NodeState::ready, 0), node("b", NodeState::ready, 0)});
  EXPECT_THAT(result.placed, ElementsAre("a"));
  EXPECT_THAT(result.surplus, ElementsAre("b"));
}

TEST(SlotPlanTest, a_record_on_its_way_out_keeps_others_from_its_slot) {
  const SlotPlan result = plan(2, {node("a", NodeState::deleting, 0)});
  EXPECT_THAT(result.missing, ElementsAre(1));
  EXPECT_THAT(result.placed, IsEmpty());
  EXPECT_THAT(result.surplus, IsEmpty());
}

TEST(SlotPlanTest, a_host_with_fewer_slots_has_surplus_records) {
  const SlotPlan result = plan(1, {node("a", NodeState::ready, 0), node("b", NodeState::ready, 1)});
  EXPECT_THAT(result.surplus, ElementsAre("b"));
}

}  // namespace
}  // namespace nodepool::drivers::static_nodes
