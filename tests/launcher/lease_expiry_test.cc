// Expired leases, held nodes and ready nodes.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "coordination/lock.h"
#include "coordination/path.h"
#include "coordination/tree.h"
#include "model/lease.h"
#include "model/paths.h"
#include "tests/launcher/launcher_fixture.h"

namespace nodepool::launcher {
namespace {

using model::Node;
using model::NodeRequest;
using model::NodeState;
using model::RequestState;
using std::chrono::hours;
using std::chrono::minutes;
using std::chrono::seconds;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;
using testing::UnorderedElementsAre;

class LeaseExpiryTest : public LauncherFixture {
 protected:
  // A node that has been leased for ten minutes, and again for ten when nine had passed.
  std::string leased_and_renewed() {
    const std::string id = request({"large"});
    Node node = read_node(read_request(id).nodes.at(0));
    coordination::Lock lock(*requestor_, random_, model::node_lock_path(node.id),
                            model::lease_contender(id), coordination::Lock::Lifetime::persistent);
    EXPECT_TRUE(as_requestor(lock.try_acquire()));
    node.set_state(NodeState::in_use, clock_.wall_seconds());
    node.user_data = model::lease_user_data({id, clock_.wall_seconds() + 600, "me"});
    write_node(node);
    cancel(id);
    pass(minutes(9));
    node.user_data = model::lease_user_data({id, clock_.wall_seconds() + 600, "me"});
    write_node(node);
    return node.id;
  }

  // The id of a new record like this one.
  std::string created(const Node& node) {
    const std::string path =
        as_requestor(requestor_->create(model::node_path(""), model::to_record(node),
                                        coordination::CreateMode::persistent_sequential));
    return std::string(coordination::base_name(path));
  }
};

TEST_F(LeaseExpiryTest, a_node_that_becomes_leased_at_that_moment_is_not_reclaimed) {
  start(kOneHost);
  Node node = nodes().at(0);
  node.set_state(NodeState::in_use, clock_.wall_seconds());
  node.user_data = model::lease_user_data({"200-1", clock_.wall_seconds() + 600, "me"});
  write_node(node);
  while (contenders().empty()) step();  // the launcher's, the first one
  as_requestor(requestor_->create(
      model::node_lock_path(node.id) + "/" + random_.uuid_hex() + "__lock__",
      model::lease_contender("200-1"), coordination::CreateMode::persistent_sequential));
  settle();
  EXPECT_EQ(read_node(node.id).state, NodeState::in_use);
  EXPECT_THAT(contenders(), SizeIs(1));
}

TEST_F(LeaseExpiryTest, an_expired_lease_ends_and_a_renewed_one_does_not) {
  start(kTwoHosts);
  const std::string node = leased_and_renewed();
  pass(minutes(9));
  EXPECT_EQ(read_node(node).state, NodeState::in_use);
  pass(minutes(1) + seconds(1));
  EXPECT_FALSE(exists(model::node_path(node)));
  EXPECT_THAT(nodes(NodeState::ready), SizeIs(3));
  EXPECT_EQ(contenders(), std::vector<std::string>());
}

TEST_F(LeaseExpiryTest, renewals_do_not_carry_a_lease_beyond_what_the_site_allows) {
  start("max-lease: 900\n" + std::string(kTwoHosts));
  const std::string node = leased_and_renewed();
  pass(minutes(5));
  EXPECT_EQ(read_node(node).state, NodeState::in_use);
  pass(minutes(1) + seconds(1));
  EXPECT_FALSE(exists(model::node_path(node)));
}

// The contender of a dead launcher remains until its session ends.
TEST_F(LeaseExpiryTest, an_expired_lease_behind_another_lock_ends_after_its_release) {
  start(kTwoHosts);
  const std::string id = request({"large"});
  Node node = read_node(read_request(id).nodes.at(0));
  coordination::Lock before(*requestor_, random_, model::node_lock_path(node.id));
  ASSERT_TRUE(as_requestor(before.try_acquire()));
  as_requestor(requestor_->create(
      model::node_lock_path(node.id) + "/" + random_.uuid_hex() + "__lock__",
      model::lease_contender(id), coordination::CreateMode::persistent_sequential));
  node.set_state(NodeState::in_use, clock_.wall_seconds());
  node.user_data = model::lease_user_data({id, clock_.wall_seconds() + 60, "me"});
  write_node(node);
  cancel(id);
  pass(minutes(2));
  EXPECT_EQ(read_node(node.id).state, NodeState::in_use);
  EXPECT_THAT(contenders(), SizeIs(2));
  as_requestor(before.release());
  pass(seconds(6));
  EXPECT_FALSE(exists(model::node_path(node.id)));
  EXPECT_EQ(contenders(), std::vector<std::string>());
}

TEST_F(LeaseExpiryTest, an_expired_lease_ends_and_keeps_other_contenders) {
  start(kTwoHosts);
  const std::string id = request({"large"});
  Node node = read_node(read_request(id).nodes.at(0));
  coordination::Lock lease(*requestor_, random_, model::node_lock_path(node.id),
                           model::lease_contender(id), coordination::Lock::Lifetime::persistent);
  ASSERT_TRUE(as_requestor(lease.try_acquire()));
  const std::string behind = as_requestor(
      requestor_->create(model::node_lock_path(node.id) + "/" + random_.uuid_hex() + "__lock__", {},
                         coordination::CreateMode::ephemeral_sequential));
  node.set_state(NodeState::in_use, clock_.wall_seconds());
  node.user_data = model::lease_user_data({id, clock_.wall_seconds() + 60, "me"});
  write_node(node);
  cancel(id);
  pass(minutes(2));
  EXPECT_EQ(read_node(node.id).state, NodeState::used);
  EXPECT_THAT(contenders(), testing::ElementsAre(behind));
}

TEST_F(LeaseExpiryTest, held_and_ready_nodes_beyond_their_age_are_replaced) {
  const std::string limits = "max-hold-age: 600\n";
  start(limits + kTwoHosts);
  const std::string id = request({"large"});
  const std::string node = read_request(id).nodes.at(0);
  accept(id);
  give_back(node, NodeState::hold);
  pass(seconds(599));
  EXPECT_EQ(read_node(node).state, NodeState::hold);
  pass(seconds(2));
  EXPECT_FALSE(exists(model::node_path(node)));
  EXPECT_THAT(nodes(NodeState::ready), SizeIs(3));

  std::string aging = kTwoHosts;
  aging.replace(aging.find("{name: large}"), 13, "{name: large, max-ready-age: 60}");
  reconfigure(aging);
  const std::string reserved = request({"large"});
  pass(hours(1));
  EXPECT_EQ(read_request(reserved).state, RequestState::fulfilled);
  EXPECT_TRUE(exists(model::node_path(read_request(reserved).nodes.at(0))));
  cancel(reserved);
  pass(minutes(3));
  for (const Node& each : nodes(NodeState::ready)) {
    if (each.has_label("large")) EXPECT_GT(each.state_time, clock_.wall_seconds() - 61);
  }
}

constexpr auto kOtherHall = R"(
labels: [{name: large}]
max-hold-age: 60
max-lease: 60
providers:
  - {name: hall, driver: static, pools: [{name: main, nodes: [{name: host-z, labels: [large]}]}]}
)";

// The Python Nodepool serves providers beside these launchers, and does not know leases.
TEST_F(LeaseExpiryTest, only_leases_end_on_nodes_that_other_launchers_serve) {
  start(kOneHost);
  start_another(kOtherHall);
  Node node = nodes().at(0);
  node.provider = "elsewhere";
  node.set_state(NodeState::in_use, clock_.wall_seconds());
  node.user_data = model::lease_user_data({"200-1", clock_.wall_seconds() + 600, "me"});
  node.id = created(node);
  coordination::Lock lease(*requestor_, random_, model::node_lock_path(node.id),
                           model::lease_contender("200-1"),
                           coordination::Lock::Lifetime::persistent);
  ASSERT_TRUE(as_requestor(lease.try_acquire()));
  Node held = node;
  held.set_state(NodeState::hold, clock_.wall_seconds());
  held.id = created(held);

  pass(minutes(9));
  EXPECT_EQ(read_node(node.id).state, NodeState::in_use);
  pass(minutes(1) + seconds(11));
  EXPECT_EQ(read_node(node.id).state, NodeState::used);
  EXPECT_EQ(contenders(), std::vector<std::string>());
  EXPECT_EQ(read_node(held.id).state, NodeState::hold);
  EXPECT_THAT(log_, IsEmpty());
}

// The holder of the lock may write its record many times.
TEST_F(LeaseExpiryTest, a_locked_node_is_tried_at_a_limited_pace) {
  start("max-hold-age: 60\n" + std::string(kTwoHosts));
  const std::string id = request({"large"});
  Node node = read_node(read_request(id).nodes.at(0));
  accept(id);
  node.set_state(NodeState::hold, clock_.wall_seconds() - 120);
  int attempts = 0;
  const coordination::Subscription watching = requestor_->watch(
      model::node_lock_path(node.id), [&attempts](const coordination::WatchEvent& event) {
        if (event.kind == coordination::WatchEvent::Kind::created) ++attempts;
      });
  for (int i = 0; i < 20; ++i) {
    node.hold_job = "job " + std::to_string(i);
    write_node(node);
    settle();
  }
  pass(seconds(58));
  EXPECT_GE(attempts, 10);
  EXPECT_LE(attempts, 13);
  give_back(node.id, NodeState::hold);
  pass(seconds(70));
  EXPECT_FALSE(exists(model::node_path(node.id)));
}

}  // namespace
}  // namespace nodepool::launcher
