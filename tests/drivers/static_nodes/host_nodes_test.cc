#include "drivers/static_nodes/host_nodes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>
#include <string>

#include "async/event_loop.h"
#include "coordination/memory/memory_server.h"
#include "coordination/memory/memory_store.h"

namespace nodepool::drivers::static_nodes {
namespace {

using model::Node;
using model::NodeState;
using testing::ElementsAre;
using testing::IsEmpty;

class HostNodesTest : public testing::Test {
 protected:
  Node add(std::string id, NodeState state, std::optional<std::int64_t> slot) {
    Node node;
    node.id = std::move(id);
    node.state = state;
    node.slot = slot;
    table_.written(node, {});
    nodes_.add(node);
    return node;
  }
  void remove(const Node& node) {
    table_.removed(node.id);
    nodes_.remove(node);
  }

  async::EventLoop loop_;
  async::VirtualClock clock_;
  async::Random random_{1};
  async::Runtime runtime_{loop_.executor(), clock_, random_};
  coordination::MemoryServer server_;
  coordination::MemoryStore store_{server_, runtime_};
  model::NodeTable table_{runtime_, store_,
                          telemetry::Logger(telemetry::Log::to_consumer([](auto&&...) {}), "test")};
  HostNodes nodes_{table_, 3};
};

TEST_F(HostNodesTest, the_plan_takes_the_records_in_the_order_of_their_ids) {
  add("c", NodeState::ready, 0);
  add("b", NodeState::ready, 7);
  add("a", NodeState::in_use, 2);
  EXPECT_THAT(nodes_.plan().placed, ElementsAre("a", "c", "b"));
  EXPECT_THAT(nodes_.plan().missing, IsEmpty());
  EXPECT_THAT(nodes_.plan("a").missing, ElementsAre(2));
}

TEST_F(HostNodesTest, a_record_in_a_slot_of_its_own_concerns_no_other) {
  EXPECT_FALSE(nodes_.affects_plan(add("a", NodeState::init, 0)));
  EXPECT_FALSE(nodes_.affects_plan(add("b", NodeState::in_use, 1)));
}

TEST_F(HostNodesTest, a_slot_that_becomes_vacant_concerns_the_plan) {
  const Node node = add("a", NodeState::used, 0);
  EXPECT_FALSE(nodes_.is_vacant(0));
  remove(node);
  EXPECT_TRUE(nodes_.is_vacant(0));
  EXPECT_TRUE(nodes_.affects_plan(node));
}

TEST_F(HostNodesTest, a_deleted_node_keeps_its_slot_until_its_replacement_is_there) {
  const Node deleted = add("a", NodeState::deleting, 0);
  EXPECT_FALSE(nodes_.affects_plan(deleted));
  const Node replacement = add("b", NodeState::ready, 0);
  EXPECT_FALSE(nodes_.affects_plan(replacement));
  remove(deleted);
  EXPECT_FALSE(nodes_.affects_plan(deleted));
  EXPECT_THAT(nodes_.plan().missing, ElementsAre(1, 2));
}

TEST_F(HostNodesTest, records_that_share_a_slot_concern_the_plan_even_when_one_is_gone) {
  const Node first = add("a", NodeState::in_use, 0);
  const Node second = add("b", NodeState::in_use, 0);
  EXPECT_TRUE(nodes_.affects_plan(second));
  EXPECT_FALSE(nodes_.is_later(first));
  EXPECT_TRUE(nodes_.is_later(second));
  remove(second);
  EXPECT_TRUE(nodes_.affects_plan(second)) << "it was placed in another slot";
  EXPECT_FALSE(nodes_.affects_plan(first));
}

TEST_F(HostNodesTest, a_record_without_one_of_the_slots_concerns_the_plan) {
  EXPECT_TRUE(nodes_.affects_plan(add("a", NodeState::in_use, std::nullopt)));
  EXPECT_TRUE(nodes_.affects_plan(add("b", NodeState::in_use, -1)));
  EXPECT_TRUE(nodes_.affects_plan(add("c", NodeState::in_use, 3)));
}

}  // namespace
}  // namespace nodepool::drivers::static_nodes
