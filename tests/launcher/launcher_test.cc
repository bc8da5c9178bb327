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
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;
using testing::UnorderedElementsAre;

class LauncherTest : public LauncherFixture {};

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

TEST_F(LauncherTest, a_pool_timeout_that_grows_meanwhile_is_waited_for) {
  start_another(kOtherRack);
  start(std::string(kOneHost) + "pool-timeout: 20\n");
  kill_others();
  const std::string id = request({"large"});
  pass(seconds(10));
  reconfigure(std::string(kOneHost) + "pool-timeout: 60\n");
  pass(seconds(40));
  EXPECT_EQ(read_request(id).state, RequestState::requested);
  pass(seconds(30));
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
