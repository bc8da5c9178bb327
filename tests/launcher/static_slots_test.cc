// How hosts become nodes: each slot once, whichever launcher registers it.

#include <gmock/gmock.h>

#include "coordination/lock.h"
#include "coordination/tree.h"
#include "model/paths.h"
#include "tests/launcher/launcher_fixture.h"

namespace nodepool::launcher {
namespace {

using model::Node;
using model::NodeState;
using std::chrono::minutes;
using std::chrono::seconds;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::SizeIs;
using testing::UnorderedElementsAre;

class StaticSlotsTest : public LauncherFixture {};

TEST_F(StaticSlotsTest, every_slot_of_every_host_becomes_a_ready_node) {
  start(kTwoHosts);
  const std::vector<Node> all = nodes(NodeState::ready);
  ASSERT_THAT(all, SizeIs(3));
  std::vector<std::string> slots;
  for (const Node& node : all) {
    slots.push_back(*node.hostname + "/" + std::to_string(*node.slot));
    EXPECT_EQ(node.provider, "rack");
    EXPECT_EQ(node.pool, "main");
    EXPECT_EQ(node.launcher, "static driver");
    EXPECT_EQ(node.interface_ip, node.hostname);
    EXPECT_EQ(node.external_id_text(), *node.hostname);
    EXPECT_EQ(node.created_time, node.state_time);
    EXPECT_EQ(node.attributes.text, R"({"executor-zone": "z1"})");
    EXPECT_THAT(node.host_keys, ElementsAre("ssh-rsa KEY"));
    EXPECT_TRUE(node.resources.is_null());
  }
  EXPECT_THAT(slots, UnorderedElementsAre("host-a/0", "host-a/1", "host-b/0"));
  EXPECT_EQ(contenders(), std::vector<std::string>());
  EXPECT_THAT(log_, IsEmpty());
}

TEST_F(StaticSlotsTest, launchers_that_begin_at_the_same_moment_register_a_slot_once) {
  const std::string nothing = "labels: [{name: small}, {name: large}]\nproviders: []\n";
  start(nothing);
  start_another(nothing);
  // After every transaction: the nodes that could be handed out.
  std::size_t most = 0;
  const std::int64_t session = server_.open_session([&](const auto&) {
    std::size_t ready = 0;
    for (const std::string& id : server_.tree().children("/nodepool/nodes")) {
      const Node node = model::parse_node(id, server_.tree().get("/nodepool/nodes/" + id));
      if (node.state == NodeState::ready) ++ready;
    }
    most = std::max(most, ready);
  });
  reconfigure_all_at_once(kTwoHosts);
  server_.end_session(session);
  EXPECT_EQ(most, 3u);
  EXPECT_THAT(nodes(NodeState::ready), SizeIs(3));
  EXPECT_THAT(nodes(), SizeIs(3));
  pass(minutes(10));
  EXPECT_THAT(nodes(), SizeIs(3));
}

TEST_F(StaticSlotsTest, nodes_follow_their_host_to_a_pool_with_another_name) {
  const auto in_pool = [](const std::string& pool) {
    return "labels: [{name: small}]\nproviders:\n  - {name: rack, driver: static, pools: [{" +
           pool + ", nodes: [{name: host-a, labels: [small], max-parallel-jobs: 2}]}]}\n";
  };
  start(in_pool("name: main, node-attributes: {executor-zone: z1}"));
  const std::string used = read_request(request({"small"})).nodes.at(0);
  reconfigure(in_pool("name: other, node-attributes: {executor-zone: z2, spare: {b: 1.5, a: ü}}"));
  const std::string second = request({"small"});
  ASSERT_EQ(read_request(second).state, model::RequestState::fulfilled);
  const Node moved = read_node(read_request(second).nodes.at(0));
  EXPECT_EQ(moved.pool, "other");
  EXPECT_EQ(moved.attributes.text,
            R"({"executor-zone": "z2", "spare": {"a": "\u00fc", "b": 1.5}})");
  EXPECT_EQ(read_node(used).pool, "main") << "it is assigned";
  cancel(second);
  const std::int64_t version = read_node(moved.id).stat.version;
  pass(minutes(10));
  EXPECT_EQ(read_node(moved.id).stat.version, version) << "it is up to date";
}

// Two launchers with different configurations, as during a rollout.
TEST_F(StaticSlotsTest, launchers_that_disagree_about_a_host_do_so_at_a_slow_pace) {
  const auto with_hosts = [](const std::string& hosts) {
    return "labels: [{name: small}, {name: large}]\nproviders:\n  - {name: rack, driver: static, "
           "pools: [{name: main, nodes: [" +
           hosts + "]}]}\n";
  };
  const std::string host = "{name: host-a, labels: [small]}";
  start(with_hosts(host));
  for (const std::string& other : {
           std::string("{name: host-a, labels: [small, large]}"),
           std::string("{name: host-a, labels: [small], max-parallel-jobs: 3}"),
           std::string("{name: host-b, labels: [large]}"),
       }) {
    std::size_t changes = 0;
    const std::int64_t session = server_.open_session([&](const auto&) { ++changes; });
    start_another(with_hosts(other));
    pass(minutes(10));
    EXPECT_LT(changes, 1500u) << other;
    EXPECT_GT(changes, 20u) << other;
    changes = 0;
    reconfigure_all_at_once(with_hosts(other));
    pass(minutes(2));
    changes = 0;
    pass(minutes(10));
    EXPECT_EQ(changes, 0u) << "they agree: " << other;
    server_.end_session(session);
    kill_others();
    reconfigure(with_hosts(host));
    pass(minutes(2));
  }
}

// A command locks each new record at once, which leaves the root of its lock.
TEST_F(StaticSlotsTest, a_surplus_record_with_a_lock_root_is_removed_at_once) {
  const std::string nothing = "labels: [{name: small}, {name: large}]\nproviders: []\n";
  start(nothing);
  start_another(nothing);
  std::size_t most = 0;
  std::int64_t session = 0;
  const auto look = [&](const std::vector<coordination::WatchEvent>&) {
    const auto ids = server_.tree().children("/nodepool/nodes");
    most = std::max(most, ids.size());
    for (const std::string& id : ids) {
      if (server_.tree().exists(model::node_lock_path(id))) continue;
      coordination::Transaction transaction;
      transaction.create(model::node_lock_path(id), {});
      server_.commit(session, transaction, 0);
    }
  };
  session = server_.open_session(look);
  reconfigure_all_at_once(kTwoHosts);
  pass(seconds(3));
  server_.end_session(session);
  EXPECT_GT(most, 3u) << "no launcher was too late";
  EXPECT_THAT(nodes(NodeState::ready), SizeIs(3));
  EXPECT_THAT(nodes(), SizeIs(3));
}

TEST_F(StaticSlotsTest, a_record_that_its_launcher_is_about_to_withdraw_is_left_alone) {
  start(kOneHost);
  Node other = nodes().at(0);
  other.set_state(NodeState::init, clock_.wall_seconds());
  const std::string path = as_requestor(requestor_->create(
      model::node_path(""), to_record(other), coordination::CreateMode::persistent_sequential));
  pass(seconds(2));
  EXPECT_TRUE(exists(path));
  EXPECT_FALSE(exists(path + "/lock"));
}

// `nodepool delete` or another launcher may lock a new record at once.
TEST_F(StaticSlotsTest, a_slot_is_not_put_into_service_while_its_record_is_locked) {
  start(kOneHost);
  const std::string first = nodes().at(0).id;
  as_requestor(coordination::remove_tree(*requestor_, model::node_path(first)));
  while (nodes(NodeState::init).empty()) step();
  const std::string id = nodes().at(0).id;
  coordination::Lock lock(*requestor_, random_, model::node_lock_path(id));
  ASSERT_TRUE(as_requestor(lock.try_acquire()));
  settle();
  EXPECT_EQ(read_node(id).state, NodeState::init);
  as_requestor(lock.release());
  pass(seconds(5));
  EXPECT_EQ(read_node(id).state, NodeState::ready);
  EXPECT_THAT(nodes(), SizeIs(1));
  EXPECT_THAT(contenders(), IsEmpty());
}

// Its launcher has died, or did not get a response.
TEST_F(StaticSlotsTest, a_registration_that_was_left_unfinished_is_made_anew) {
  start(kOneHost);
  pass(minutes(10));
  Node left = nodes().at(0);
  as_requestor(coordination::remove_tree(*requestor_, model::node_path(left.id)));
  left.set_state(NodeState::init, clock_.wall_seconds());
  as_requestor(requestor_->create(model::node_path(""), to_record(left),
                                  coordination::CreateMode::persistent_sequential));
  pass(minutes(3));
  ASSERT_THAT(nodes(), SizeIs(1));
  EXPECT_EQ(nodes().at(0).state, NodeState::ready);
}

TEST_F(StaticSlotsTest, a_slot_whose_record_becomes_invalid_is_not_registered_twice) {
  start(kOneHost);
  const std::string id = nodes().at(0).id;
  as_requestor(requestor_->set(model::node_path(id), "no json", coordination::kAnyVersion));
  pass(minutes(5));
  EXPECT_THAT(children(std::string(model::kNodesRoot)), ElementsAre(id));
  EXPECT_THAT(log_, Contains(HasSubstr("Static node host-a")).Times(1));
  reconfigure(R"(
labels: [{name: small}]
providers:
  - name: rack
    driver: static
    pools: [{name: main, nodes: [{name: host-a, labels: [small], timeout: 7}]}]
)");
  pass(minutes(5));
  EXPECT_THAT(children(std::string(model::kNodesRoot)), ElementsAre(id));
  as_requestor(coordination::remove_tree(*requestor_, model::node_path(id)));
  pass(minutes(2));
  EXPECT_THAT(nodes(NodeState::ready), SizeIs(1));
}

// A newer release has written it.
TEST_F(StaticSlotsTest, a_node_in_an_unknown_state_has_its_slot) {
  start(kOneHost);
  const Node node = nodes().at(0);
  std::string record = to_record(node);
  record.replace(record.find("ready"), std::string("ready").size(), "dreaming");
  kill();
  as_requestor(requestor_->set(model::node_path(node.id), record, coordination::kAnyVersion));
  start(kOneHost);
  pass(minutes(5));
  EXPECT_THAT(children(std::string(model::kNodesRoot)), ElementsAre(node.id));
  write_node(node);
  pass(minutes(5));
  EXPECT_EQ(read_node(node.id).state, NodeState::ready);
  EXPECT_THAT(nodes(), SizeIs(1));
}

TEST_F(StaticSlotsTest, a_host_whose_lookup_is_queued_is_neither_healthy_nor_unhealthy) {
  start(kOneHost);
  const std::string id = nodes().at(0).id;
  kill();
  using Kind = nodescan::ScanError::Kind;
  lookup_failure_->emplace(Kind::queued, "behind others");
  start(kOneHost);
  pass(minutes(5));
  EXPECT_EQ(read_node(id).state, NodeState::ready);
  const std::string user = request({"small"});
  EXPECT_EQ(read_request(user).nodes, std::vector{id}) << "it is handed out";
  cancel(user);
  as_requestor(coordination::remove_tree(*requestor_, model::node_path(id)));
  pass(minutes(5));
  EXPECT_THAT(nodes(), IsEmpty());
  EXPECT_THAT(log_, Not(Contains(HasSubstr("Couldn't sync"))));
  lookup_failure_->emplace(Kind::timeout, "too slow");
  pass(minutes(1));
  EXPECT_THAT(log_, Contains(HasSubstr("Couldn't sync")));
  lookup_failure_->reset();
  pass(minutes(2));
  EXPECT_THAT(nodes(NodeState::ready), SizeIs(1));
}

}  // namespace
}  // namespace nodepool::launcher
