#include "launcher/launcher.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "config/problem.h"
#include "coordination/lock.h"
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
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::SizeIs;
using testing::UnorderedElementsAre;

class LauncherTest : public LauncherFixture {};

TEST_F(LauncherTest, every_slot_of_every_host_becomes_a_ready_node) {
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

TEST_F(LauncherTest, launchers_that_begin_at_the_same_moment_register_a_slot_once) {
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

// Two launchers with different configurations, as during a rollout.
TEST_F(LauncherTest, launchers_that_disagree_about_a_host_do_so_at_a_slow_pace) {
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
    others_.clear();
    reconfigure(with_hosts(host));
    pass(minutes(2));
  }
}

// A command locks each new record at once, which leaves the root of its lock.
TEST_F(LauncherTest, a_surplus_record_with_a_lock_root_is_removed_at_once) {
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

TEST_F(LauncherTest, a_record_that_its_launcher_is_about_to_withdraw_is_left_alone) {
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
TEST_F(LauncherTest, a_slot_is_not_put_into_service_while_its_record_is_locked) {
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
TEST_F(LauncherTest, a_registration_that_was_left_unfinished_is_made_anew) {
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

TEST_F(LauncherTest, a_slot_whose_record_becomes_invalid_is_not_registered_twice) {
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
TEST_F(LauncherTest, a_node_in_an_unknown_state_has_its_slot) {
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

TEST_F(LauncherTest, a_host_whose_lookup_is_queued_is_neither_healthy_nor_unhealthy) {
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

TEST_F(LauncherTest, a_request_is_fulfilled_with_an_unlocked_allocated_node) {
  start(kTwoHosts);
  const std::string id = request({"large"}, [](NodeRequest& request) {
    request.tenant_name = "acme";
    request.requestor_data = {R"({"build": [1, null]})"};
    request.unknown = {{"ours", {"1"}}};
  });
  const NodeRequest answered = read_request(id);
  ASSERT_EQ(answered.state, RequestState::fulfilled);
  ASSERT_THAT(answered.nodes, SizeIs(1));
  EXPECT_EQ(answered.requestor_data.text, R"({"build": [1, null]})");
  EXPECT_THAT(answered.unknown, SizeIs(1));
  const Node node = read_node(answered.nodes[0]);
  EXPECT_EQ(node.state, NodeState::ready);
  EXPECT_EQ(node.allocated_to, id);
  EXPECT_EQ(node.tenant_name, "acme");
  EXPECT_EQ(node.requestor, "test");
  EXPECT_EQ(node.username, "ci");
  EXPECT_EQ(node.port(), 2222);
  EXPECT_EQ(contenders(), std::vector<std::string>());
}

TEST_F(LauncherTest, nodes_are_in_the_order_of_their_labels) {
  start(kTwoHosts);
  const std::string id = request({"small", "large", "small"});
  const NodeRequest answered = read_request(id);
  ASSERT_EQ(answered.state, RequestState::fulfilled);
  ASSERT_THAT(answered.nodes, SizeIs(3));
  EXPECT_TRUE(read_node(answered.nodes[0]).has_label("small"));
  EXPECT_TRUE(read_node(answered.nodes[1]).has_label("large"));
  EXPECT_TRUE(read_node(answered.nodes[2]).has_label("small"));
  EXPECT_THAT(nodes(NodeState::ready), testing::Each(testing::Field(&Node::allocated_to, id)));
}

TEST_F(LauncherTest, a_fulfilled_request_costs_two_commits) {
  start(kTwoHosts);
  const auto zxid = [this] {
    return loop_.run(requestor_->set("/nodepool", "", coordination::kAnyVersion)).mzxid;
  };
  const std::int64_t before = zxid();
  request({"large"});
  // One for the creation of the request, two by the launcher, one for this check.
  EXPECT_EQ(zxid() - before, 4);
}

TEST_F(LauncherTest, an_unknown_label_fails_with_the_reasons) {
  start(kTwoHosts);
  const NodeRequest answered = read_request(request({"huge"}));
  EXPECT_EQ(answered.state, RequestState::failed);
  ASSERT_THAT(answered.declined_by, SizeIs(1));
  EXPECT_EQ(answered.decline_reasons.at(answered.declined_by[0]),
            "node type(s) [huge] not available");
  EXPECT_EQ(contenders(), std::vector<std::string>());
}

std::vector<std::string> many_labels(int count) {
  std::vector<std::string> labels;
  for (int i = 0; i < count; ++i) labels.push_back("nobody-has-" + std::to_string(10'000 + i));
  return labels;
}

constexpr auto kOtherRack = R"(
labels: [{name: large}]
providers:
  - {name: hall, driver: static, pools: [{name: main, nodes: [{name: host-z, labels: [large]}]}]}
)";

TEST_F(LauncherTest, a_label_with_briefly_missing_pools_fails_no_request) {
  start_another(kOneHost);
  start(kOtherRack);
  kill();
  const std::string id = request({"large"});
  pass(minutes(1));
  EXPECT_EQ(read_request(id).state, RequestState::requested);
  EXPECT_THAT(read_request(id).declined_by, SizeIs(1));
  const std::string typo = request({"larg"});
  EXPECT_EQ(read_request(typo).state, RequestState::failed) << "at once";
  start(kOtherRack);
  pass(seconds(2));
  EXPECT_EQ(read_request(id).state, RequestState::fulfilled);
}

TEST_F(LauncherTest, pools_that_do_not_return_are_not_waited_for) {
  start_another(std::string(kOneHost) + "pool-timeout: 20\n");
  start(kOtherRack);
  kill();
  const std::string id = request({"large"});
  pass(seconds(19));
  EXPECT_EQ(read_request(id).state, RequestState::requested);
  pass(seconds(2));
  EXPECT_EQ(read_request(id).state, RequestState::failed);
}

TEST_F(LauncherTest, a_very_large_request_fails_with_a_short_reason) {
  start(kTwoHosts);
  for (const int count : {900, 40'000}) {
    const std::string id = post_request(many_labels(count));
    pass(std::chrono::seconds(1));
    const NodeRequest answered = read_request(id);
    EXPECT_EQ(answered.state, RequestState::failed);
    ASSERT_THAT(answered.declined_by, SizeIs(1));
    EXPECT_LE(answered.decline_reasons.at(answered.declined_by[0]).size(), 1000U);
  }
  EXPECT_EQ(contenders(), std::vector<std::string>());
}

TEST_F(LauncherTest, a_full_record_is_answered_without_a_reason_or_left_alone) {
  start(kTwoHosts);
  const auto fill = [this](std::size_t left) {
    return post_request({"huge"}, [left](NodeRequest& request) {
      request.requestor_data = model::json_string("");
      const std::size_t size = to_record(request).size();
      request.requestor_data =
          model::json_string(std::string(coordination::kMaximumDataSize - size - left, 'x'));
    });
  };
  const std::string brief = fill(150);
  pass(std::chrono::seconds(1));
  EXPECT_EQ(read_request(brief).state, RequestState::failed);
  EXPECT_THAT(read_request(brief).decline_reasons, testing::IsEmpty());
  EXPECT_THAT(log_, testing::IsEmpty());
  const std::string full = fill(0);
  pass(std::chrono::minutes(10));
  EXPECT_EQ(read_request(full).state, RequestState::requested);
  EXPECT_THAT(log_, SizeIs(1));
  EXPECT_EQ(contenders(), std::vector<std::string>());
  // Other requests are served.
  EXPECT_EQ(read_request(request({"large"})).state, RequestState::fulfilled);
}

TEST_F(LauncherTest, requests_wait_for_nodes_in_order_of_priority) {
  start(kTwoHosts);
  const std::string user = request({"large"});
  const std::string late = request({"large"}, [](NodeRequest& r) { r.relative_priority = 5; });
  const std::string soon = request({"large"}, [](NodeRequest& r) { r.relative_priority = 1; });
  EXPECT_EQ(read_request(late).state, RequestState::requested);
  EXPECT_EQ(read_request(soon).state, RequestState::requested);
  const std::string node = read_request(user).nodes.at(0);
  accept(user);
  give_back(node);
  EXPECT_EQ(read_request(soon).state, RequestState::fulfilled);
  EXPECT_EQ(read_request(late).state, RequestState::requested);
}

TEST_F(LauncherTest, a_changed_priority_moves_a_waiting_request) {
  start(kTwoHosts);
  const std::string user = request({"large"});
  const std::string first = request({"large"});
  const std::string second = request({"large"});
  NodeRequest revised = read_request(second);
  revised.relative_priority = -1;
  as_requestor(requestor_->set(model::request_path(second), to_record(revised), 0));
  const std::string node = read_request(user).nodes.at(0);
  accept(user);
  give_back(node);
  EXPECT_EQ(read_request(second).state, RequestState::fulfilled);
  EXPECT_EQ(read_request(first).state, RequestState::requested);
}

TEST_F(LauncherTest, a_small_request_is_served_while_a_large_one_waits) {
  start(kTwoHosts);
  const std::string user = request({"large"});
  const std::string large = request({"small", "large"});
  const std::string small = request({"small"});
  EXPECT_EQ(read_request(large).state, RequestState::requested);
  EXPECT_EQ(read_request(small).state, RequestState::fulfilled);
}

TEST_F(LauncherTest, a_used_node_is_replaced_by_a_new_one_in_the_same_slot) {
  start(kTwoHosts);
  const std::string id = request({"large"});
  const std::string node = read_request(id).nodes.at(0);
  accept(id);
  pass(hours(1));
  EXPECT_EQ(read_node(node).state, NodeState::in_use) << "a locked node is left alone";
  give_back(node);
  EXPECT_FALSE(exists(model::node_path(node)));
  EXPECT_THAT(nodes(NodeState::ready), SizeIs(3));
  EXPECT_EQ(contenders(), std::vector<std::string>());
}

TEST_F(LauncherTest, nodes_of_a_requestor_that_died_come_back) {
  start(kTwoHosts);
  const std::string id = request({"large"});
  const std::string node = read_request(id).nodes.at(0);
  accept(id);
  requestor_->kill_for_tests();
  requestor_ = std::make_unique<coordination::MemoryStore>(server_, runtime_);
  settle();
  EXPECT_FALSE(exists(model::node_path(node)));
  EXPECT_THAT(nodes(NodeState::ready), SizeIs(3));
}

TEST_F(LauncherTest, a_held_node_keeps_its_slot) {
  start(kTwoHosts);
  const std::string id = request({"large"});
  const std::string node = read_request(id).nodes.at(0);
  accept(id);
  give_back(node, NodeState::hold);
  pass(hours(5));
  EXPECT_EQ(read_node(node).state, NodeState::hold);
  EXPECT_THAT(nodes(), SizeIs(3));
}

TEST_F(LauncherTest, nodes_of_a_withdrawn_request_become_free) {
  start(kTwoHosts);
  const std::string id = request({"large"});
  const std::string node = read_request(id).nodes.at(0);
  cancel(id);
  EXPECT_EQ(read_node(node).state, NodeState::ready);
  EXPECT_EQ(read_node(node).allocated_to, std::nullopt);
  EXPECT_EQ(read_request(request({"large"})).nodes.at(0), node);
  EXPECT_EQ(contenders(), std::vector<std::string>());
}

TEST_F(LauncherTest, hosts_are_registered_again_after_all_nodes_are_removed) {
  start(kTwoHosts);
  const std::size_t count = nodes().size();
  as_requestor(coordination::remove_tree(*requestor_, "/nodepool/nodes"));
  pass(seconds(5));
  EXPECT_EQ(nodes(NodeState::ready).size(), count);
}

// A host whose node an operator deletes now and then must not be away for a minute each time.
TEST_F(LauncherTest, a_host_is_back_within_seconds_however_often_its_nodes_are_removed) {
  start(kTwoHosts);
  const std::size_t count = nodes().size();
  for (int i = 0; i < 30; ++i) {
    as_requestor(coordination::remove_tree(*requestor_, "/nodepool/nodes"));
    pass(seconds(7));
    ASSERT_EQ(nodes(NodeState::ready).size(), count) << i;
  }
}

TEST_F(LauncherTest, an_unlocked_pending_request_is_served) {
  start(kTwoHosts);
  const std::string user = request({"large"});
  Node node = read_node(read_request(user).nodes.at(0));
  cancel(user);
  // As a Python launcher leaves it: pending, unlocked, with a node.
  const std::string lost =
      request({"large"}, [](NodeRequest& r) { r.set_state(RequestState::pending, 1); });
  node = read_node(node.id);
  node.allocated_to = lost;
  write_node(node);
  pass(minutes(2));
  EXPECT_EQ(read_request(lost).state, RequestState::fulfilled);
  EXPECT_THAT(read_request(lost).nodes, ElementsAre(node.id));
  // A locked request is left alone.
  const std::string busy =
      request({"small"}, [](NodeRequest& r) { r.set_state(RequestState::pending, 1); });
  coordination::Lock lock(*requestor_, random_, model::request_lock_path(busy));
  ASSERT_TRUE(as_requestor(lock.try_acquire()));
  pass(hours(1));
  EXPECT_EQ(read_request(busy).state, RequestState::pending);
  as_requestor(lock.release());
}

TEST_F(LauncherTest, a_lost_request_is_served_again_while_one_of_its_nodes_is_being_deleted) {
  start(kTwoHosts);
  NodeRequest lost = read_request(post_request({"large"}));
  stop();
  Node node = nodes().front();
  node.set_state(NodeState::failed, clock_.wall_seconds());
  node.allocated_to = lost.id;
  write_node(node);
  coordination::Lock deletion(*requestor_, random_, model::node_lock_path(node.id));
  ASSERT_TRUE(as_requestor(deletion.try_acquire()));
  lost = read_request(lost.id);
  lost.set_state(RequestState::pending, clock_.wall_seconds());
  as_requestor(
      requestor_->set(model::request_path(lost.id), to_record(lost), coordination::kAnyVersion));
  start(kTwoHosts);
  pass(minutes(5));
  EXPECT_EQ(read_request(lost.id).state, RequestState::fulfilled);
  EXPECT_EQ(read_node(node.id).state, NodeState::failed) << "its deletion takes long";
  as_requestor(deletion.release());
}

TEST_F(LauncherTest, locks_of_gone_requests_and_empty_records_are_removed) {
  start(kTwoHosts);
  cancel(request({"large"}));
  cancel(request({"unknown"}));
  const std::string open = request({"small"});
  as_requestor(
      requestor_->create("/nodepool/nodes/", "", coordination::CreateMode::persistent_sequential));
  pass(minutes(2));
  EXPECT_THAT(children(std::string(model::kRequestLocksRoot)), ElementsAre(open));
  EXPECT_THAT(nodes(), SizeIs(3));
}

TEST_F(LauncherTest, a_malformed_record_does_not_affect_other_requests) {
  start(kTwoHosts);
  as_requestor(requestor_->create("/nodepool/requests/200-", "{\"state\": \"wishful\"}",
                                  coordination::CreateMode::persistent_sequential));
  as_requestor(requestor_->create("/nodepool/requests/nonsense", "{}",
                                  coordination::CreateMode::persistent));
  as_requestor(requestor_->create("/nodepool/nodes/", "no json",
                                  coordination::CreateMode::persistent_sequential));
  settle();
  EXPECT_EQ(read_request(request({"large"})).state, RequestState::fulfilled);
  pass(hours(1));
  EXPECT_THAT(log_, SizeIs(3)) << "one message for each bad record";
  EXPECT_THAT(log_, testing::Each(HasSubstr("Ignoring the record /nodepool/")));
}

TEST_F(LauncherTest, an_orderly_stop_leaves_nothing_behind) {
  start(kTwoHosts);
  const std::string waiting = request({"large", "small", "small", "small"});
  const std::string done = request({"large"});
  stop();
  EXPECT_THAT(children("/nodepool/components/pool"), IsEmpty());
  EXPECT_THAT(children("/nodepool/components/launcher"), IsEmpty());
  EXPECT_EQ(contenders(), std::vector<std::string>());
  EXPECT_EQ(read_request(done).state, RequestState::fulfilled);
}

TEST_F(LauncherTest, a_restarted_launcher_resumes_the_work_of_a_killed_one) {
  start(kTwoHosts);
  const std::string user = request({"large"});
  const std::string node = read_request(user).nodes.at(0);
  accept(user);
  kill();
  const std::string waiting = request({"large"});
  give_back(node);
  EXPECT_EQ(read_request(waiting).state, RequestState::requested);
  start(kTwoHosts);
  EXPECT_EQ(read_request(waiting).state, RequestState::fulfilled);
  EXPECT_THAT(nodes(), SizeIs(3));
}

TEST_F(LauncherTest, a_lost_session_is_survived) {
  start(kTwoHosts);
  process_store().expire_for_tests();
  settle();
  pass(seconds(5));
  EXPECT_THAT(children("/nodepool/components/pool"), SizeIs(1));
  EXPECT_EQ(read_request(request({"large"})).state, RequestState::fulfilled);
  process_store().suspend_for_tests();
  const std::string id = request({"small"});
  EXPECT_EQ(read_request(id).state, RequestState::requested);
  process_store().resume_for_tests();
  pass(seconds(5));
  EXPECT_EQ(read_request(id).state, RequestState::fulfilled);
}

constexpr auto kOtherHosts = R"(
labels: [{name: small}, {name: large}, {name: huge}]
providers:
  - name: rack
    driver: static
    pools:
      - name: main
        nodes:
          - {name: host-a, labels: [small, huge]}
          - {name: host-c, labels: [large]}
)";

TEST_F(LauncherTest, a_reload_adds_changes_and_removes_hosts) {
  start(kTwoHosts);
  const std::string id = request({"large"});
  const std::string node = read_request(id).nodes.at(0);  // of host-b, which is removed next
  accept(id);
  reconfigure(kOtherHosts);
  std::vector<std::string> ready;
  for (const Node& each : nodes(NodeState::ready)) {
    ready.push_back(*each.hostname + " " + each.type.back());
  }
  EXPECT_THAT(ready, UnorderedElementsAre("host-a huge", "host-c large"));
  EXPECT_EQ(read_node(node).state, NodeState::in_use) << "a busy node stays";
  EXPECT_EQ(read_request(request({"huge"})).state, RequestState::fulfilled);
  give_back(node);
  EXPECT_FALSE(exists(model::node_path(node)));
  EXPECT_THAT(nodes(), SizeIs(2));
  EXPECT_THAT(children("/nodepool/components/pool"), SizeIs(1)) << "the worker was kept";
}

TEST_F(LauncherTest, a_reload_while_the_store_is_away_is_done_when_it_is_back) {
  start(kOneHost);
  process_store().suspend_for_tests();
  begin_to_reconfigure(R"(
labels: [{name: small}, {name: large}]
providers:
  - {name: rack, driver: static, pools: [{name: main, nodes: [{name: host-a, labels: [small]}]}]}
  - {name: more, driver: static, pools: [{name: main, nodes: [{name: host-b, labels: [large]}]}]}
)");
  pass(seconds(5));
  process_store().resume_for_tests();
  pass(seconds(5));
  EXPECT_EQ(read_request(request({"large"})).state, RequestState::fulfilled);
  EXPECT_EQ(read_request(request({"small"})).state, RequestState::fulfilled);
}

TEST_F(LauncherTest, a_reload_without_changes_touches_nothing) {
  start(kTwoHosts);
  const auto before = nodes();
  reconfigure(std::string("# a comment\n") + kTwoHosts);
  const auto after = nodes();
  ASSERT_EQ(before.size(), after.size());
  for (std::size_t i = 0; i < before.size(); ++i) EXPECT_EQ(before[i].stat, after[i].stat);
}

TEST_F(LauncherTest, a_bad_reload_changes_nothing) {
  start(kTwoHosts);
  EXPECT_THROW(reconfigure(R"(
labels: []
providers:
  - {name: rack, driver: static, pools: [{name: main, nodes: [{name: x, labels: [nowhere]}]}]}
)"),
               config::ConfigError);
  EXPECT_EQ(read_request(request({"large"})).state, RequestState::fulfilled);
}

TEST_F(LauncherTest, a_removed_provider_stops_serving_and_its_nodes_are_left_alone) {
  start(kTwoHosts);
  reconfigure("labels: [{name: small}]");
  EXPECT_THAT(nodes(NodeState::ready), SizeIs(3));
  EXPECT_THAT(children("/nodepool/components/pool"), IsEmpty());
  const std::string id = request({"small"});
  EXPECT_EQ(read_request(id).state, RequestState::requested);
  reconfigure(kTwoHosts);
  EXPECT_EQ(read_request(id).state, RequestState::fulfilled);
}

}  // namespace
}  // namespace nodepool::launcher
