// Launchers with providers that launch nodes.

#include <gmock/gmock.h>

#include <utility>

#include "coordination/tree.h"
#include "model/paths.h"
#include "tests/launcher/cloud_fixture.h"

namespace nodepool::launcher {
namespace {

using model::Node;
using model::NodeRequest;
using model::NodeState;
using model::RequestState;
using std::chrono::minutes;
using std::chrono::seconds;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

TEST_F(CloudTest, a_node_is_launched_and_handed_out) {
  start(kCloud);
  const std::string id =
      request({"small"}, [](NodeRequest& request) { request.tenant_name = "acme"; });
  const NodeRequest answered = read_request(id);
  ASSERT_EQ(answered.state, RequestState::fulfilled);
  ASSERT_THAT(answered.nodes, SizeIs(1));
  const Node node = read_node(answered.nodes[0]);
  EXPECT_EQ(node.state, NodeState::ready);
  EXPECT_EQ(node.allocated_to, id);
  EXPECT_EQ(node.tenant_name, "acme");
  EXPECT_EQ(node.requestor, "test");
  EXPECT_EQ(node.provider, "sky");
  EXPECT_EQ(node.pool, "main");
  EXPECT_EQ(node.attributes.text, R"({"executor-zone": "z1"})");
  EXPECT_EQ(node.resources.text, R"({"cores": 0, "instances": 1, "ram": 0})");
  EXPECT_EQ(node.external_id_text(), "machine-" + node.id);
  EXPECT_THAT(node.launcher.value_or(""), HasSubstr("PoolWorker.sky-main-"));
  EXPECT_THAT(contenders(), IsEmpty());
  accept(id);
  give_back(node.id);
  EXPECT_THAT(nodes(), IsEmpty());
  EXPECT_THAT(cloud_->machines, IsEmpty());
}

class ChangedRequestTest : public CloudTest {
 protected:
  // Changes the labels of a request like its requestor.
  void change(const std::string& id, std::vector<std::string> labels) {
    NodeRequest changed = read_request(id);
    changed.node_types = std::move(labels);
    as_requestor(
        requestor_->set(model::request_path(id), to_record(changed), changed.stat.version));
    settle();
  }
};

TEST_F(ChangedRequestTest, it_is_served_as_it_is_at_the_end_of_its_launches) {
  cloud_->launch_time = seconds(10);
  start(kCloud);
  for (const std::size_t count : {2U, 1U}) {
    const std::string id = request(std::vector<std::string>(3 - count, "small"));
    EXPECT_EQ(state(id), RequestState::pending);
    change(id, std::vector<std::string>(count, "small"));
    pass(seconds(30));
    EXPECT_EQ(state(id), RequestState::fulfilled);
    EXPECT_THAT(read_request(id).nodes, SizeIs(count));
    EXPECT_THAT(contenders(), IsEmpty());
    const std::vector<std::string> handed_out = read_request(id).nodes;
    accept(id);
    for (const std::string& node : handed_out) give_back(node);
  }
}

TEST_F(ChangedRequestTest, no_node_is_launched_for_its_former_labels) {
  start(kCloud);
  cancel(request({"small"}));
  cloud_->check_time = seconds(2);
  cloud_->launch_time = seconds(10);
  const std::string id = request({"small", "large"});
  change(id, {"small", "large", "large"});
  pass(seconds(5));
  EXPECT_EQ(cloud_->launches, 3) << "the idle node, and two of the request at once";
  pass(seconds(10));
  EXPECT_EQ(state(id), RequestState::fulfilled);
  EXPECT_THAT(read_request(id).nodes, SizeIs(3));
}

TEST_F(CloudTest, a_request_is_pending_and_its_nodes_are_building_and_locked_meanwhile) {
  cloud_->launch_time = minutes(1);
  start(kCloud);
  const std::string id = request({"small", "large"});
  EXPECT_EQ(state(id), RequestState::pending);
  const std::vector<Node> building = nodes(NodeState::building);
  ASSERT_THAT(building, SizeIs(2));
  EXPECT_THAT(building, testing::Each(testing::Field(&Node::allocated_to, id)));
  EXPECT_THAT(contenders(), SizeIs(3)) << "the request and both nodes";
  pass(minutes(1));
  const NodeRequest answered = read_request(id);
  ASSERT_EQ(answered.state, RequestState::fulfilled);
  EXPECT_TRUE(read_node(answered.nodes[0]).has_label("small"));
  EXPECT_TRUE(read_node(answered.nodes[1]).has_label("large"));
  EXPECT_THAT(contenders(), IsEmpty());
}

// A script that removes records, or a launcher that disagrees.
TEST_F(CloudTest, a_request_whose_nodes_are_removed_again_and_again_is_retried_at_a_limited_pace) {
  cloud_->launch_time = std::chrono::milliseconds(20);
  start(kCloud);
  const std::string id = request({"small"});
  for (int i = 0; i < 2000; ++i) {
    for (const std::string& node : children("/nodepool/nodes")) {
      as_requestor(coordination::remove_tree(*requestor_, "/nodepool/nodes/" + node));
    }
    pass(std::chrono::milliseconds(10));
  }
  EXPECT_GE(cloud_->launches, 10);
  EXPECT_LE(cloud_->launches, 32) << "ten, and one a second";
  pass(seconds(5));
  EXPECT_EQ(state(id), RequestState::fulfilled);
}

TEST_F(CloudTest, ready_nodes_are_reused_and_the_rest_is_launched_in_order) {
  start(kCloud);
  const std::string first = request({"large"});
  const std::string reused = read_request(first).nodes.at(0);
  cancel(first);
  ASSERT_EQ(read_node(reused).allocated_to, std::nullopt);
  const std::string id = request({"small", "large", "small"});
  const NodeRequest answered = read_request(id);
  ASSERT_EQ(answered.state, RequestState::fulfilled);
  EXPECT_EQ(answered.nodes.at(1), reused);
  EXPECT_EQ(cloud_->launches, 3);
  EXPECT_TRUE(read_node(answered.nodes[0]).has_label("small"));
  EXPECT_TRUE(read_node(answered.nodes[2]).has_label("small"));
}

TEST_F(CloudTest, a_provider_may_take_over_from_the_one_that_it_replaces) {
  start(kCloud);
  EXPECT_THAT(cloud_->events, testing::IsEmpty());
  std::string changed(kCloud);
  const auto pools = changed.find("pools:");
  changed.insert(pools, "max-concurrency: 7\n    ");
  reconfigure(changed);
  ASSERT_EQ(cloud_->events.size(), 1U);
  EXPECT_THAT(cloud_->events.front(), testing::StartsWith("taken over from "));
}

TEST_F(CloudTest, a_request_for_new_nodes_gets_new_nodes) {
  start(kCloud);
  const std::string first = request({"small"});
  const std::string old = read_request(first).nodes.at(0);
  cancel(first);
  const std::string id = request({"small"}, [](NodeRequest& request) { request.reuse = false; });
  EXPECT_NE(read_request(id).nodes.at(0), old);
}

TEST_F(CloudTest, a_provider_that_cannot_start_is_tried_again) {
  cloud_->start_failure = "there are no credentials";
  start(kCloud);
  const std::string waiting = request({"small"});
  pass(minutes(2));
  EXPECT_EQ(state(waiting), RequestState::requested) << "its pool may be back";
  EXPECT_THAT(log_, testing::Contains(testing::HasSubstr("there are no credentials")).Times(1));
  const int starts = cloud_->starts;
  EXPECT_GE(starts, 3);
  EXPECT_LE(starts, 6) << "with growing pauses";
  cloud_->start_failure.clear();
  pass(minutes(3));
  EXPECT_EQ(state(waiting), RequestState::fulfilled);
  EXPECT_EQ(cloud_->starts, starts + 1);
  pass(minutes(60));
  EXPECT_EQ(cloud_->starts, starts + 1) << "it has been started";
}

// The file with the second cloud is missing.
constexpr auto kTwoClouds = R"(
labels: [{name: small}, {name: wet}]
providers:
  - name: sky
    driver: cloud
    pools: [{name: main, labels: [small]}]
  - name: rain
    driver: fake
    cloud: rain
    cloud-images: [{name: Fake Precise}]
    pools:
      - name: main
        labels: [{name: wet, cloud-image: Fake Precise, flavor-name: Fake Flavor}]
)";

TEST_F(CloudTest, a_cloud_that_this_host_does_not_know_disturbs_no_other) {
  start(kTwoClouds);
  EXPECT_EQ(state(request({"small"})), RequestState::fulfilled);
  const std::string waiting = request({"wet"});
  pass(minutes(10));
  EXPECT_EQ(state(waiting), RequestState::requested) << "its pool may be there later";
  EXPECT_THAT(launcher().health().warnings,
              testing::Contains(testing::AllOf(HasSubstr("provider rain is not in service: "),
                                               HasSubstr("cloud rain not found"))));
  directory_.write("clouds.yaml", "clouds: {rain: {auth: {}}}");
  reconfigure(kTwoClouds);
  pass(minutes(3));
  EXPECT_EQ(state(waiting), RequestState::fulfilled);
  directory_.write("clouds.yaml", "clouds: {");
  reconfigure(kTwoClouds);
  EXPECT_THAT(launcher().health().warnings,
              testing::Contains(HasSubstr("provider rain keeps its previous configuration: ")));
  request({"wet"});
  pass(minutes(3));
  EXPECT_THAT(nodes(NodeState::ready), SizeIs(3));
}

TEST_F(CloudTest, a_request_for_a_provider_that_cannot_start_fails_when_that_is_removed) {
  start(kTwoClouds);
  const std::string waiting = request({"wet"});
  pass(minutes(10));
  EXPECT_EQ(state(waiting), RequestState::requested);
  reconfigure(kCloud);
  pass(seconds(5));
  EXPECT_EQ(state(waiting), RequestState::failed);
}

TEST_F(CloudTest, a_provider_that_cannot_start_is_not_waited_for_if_it_accepts_nothing) {
  for (const auto& [place, limit] :
       {std::pair("cloud: rain", "max-concurrency: 0\n    "),
        std::pair("labels: [{name: wet, ", "max-servers: 0\n        ")}) {
    std::string yaml(kTwoClouds);
    yaml.insert(yaml.find(place), limit);
    start(yaml);
    EXPECT_EQ(state(request({"wet"})), RequestState::failed) << limit;
    stop();
  }
}

TEST_F(CloudTest, a_reload_ends_the_wait_for_a_provider_that_cannot_start) {
  cloud_->start_failure = "there are no credentials";
  start(kCloud);
  pass(minutes(10));
  cloud_->start_failure.clear();
  const int starts = cloud_->starts;
  reconfigure(kCloud);
  EXPECT_EQ(cloud_->starts, starts + 1) << "at once";
  const std::string waiting = request({"small"});
  pass(seconds(30));
  EXPECT_EQ(state(waiting), RequestState::fulfilled);
  cloud_->start_failure = "not again";
  pass(minutes(60));
  EXPECT_EQ(cloud_->starts, starts + 1);
}

TEST_F(CloudTest, a_reload_at_any_moment_of_a_late_start_leaves_no_pool_without_its_worker) {
  for (int moment = 0; moment < 40; ++moment) {
    cloud_->start_failure = "there are no credentials";
    start(kCloud);
    cloud_->start_failure.clear();
    pass(seconds(5) - std::chrono::milliseconds(1));
    for (int i = 0; i < moment; ++i) step();
    reconfigure(kCloud);
    const std::string id = request({"small"});
    pass(seconds(5));
    EXPECT_EQ(state(id), RequestState::fulfilled) << "after step " << moment;
    cancel(id);
    stop();
  }
}

// Otherwise requests would wait for the decision of a pool that no worker serves.
TEST_F(CloudTest, a_reload_during_a_registration_without_an_answer_leaves_no_ghost_of_the_pool) {
  const std::string registry = "/nodepool/components/pool";
  bool is_lost = true;
  const auto lose_answer = [&](const std::vector<coordination::WatchEvent>& events) {
    for (const coordination::WatchEvent& event : events) {
      const bool is_created = event.kind == coordination::WatchEvent::Kind::created;
      if (!is_created || !event.path.starts_with(registry + "/")) continue;
      if (!std::exchange(is_lost, true)) process_store().suspend_for_tests();
    }
  };
  const std::int64_t listening = server_.open_session(lose_answer);
  for (const char* reloaded : {"labels: [{name: small}]", kCloud}) {
    cloud_->start_failure = "there are no credentials";
    start(kCloud);
    cloud_->start_failure.clear();
    is_lost = false;
    pass(seconds(5));
    EXPECT_TRUE(is_lost) << "the late start registers the pool";
    EXPECT_THAT(children(registry), SizeIs(1));
    begin_to_reconfigure(reloaded);
    settle();
    process_store().resume_for_tests();
    pass(seconds(10));
    const bool is_configured = reloaded == kCloud;
    EXPECT_THAT(children(registry), SizeIs(is_configured ? 1 : 0));
    const std::string id = request({"small"});
    pass(seconds(5));
    EXPECT_EQ(state(id), is_configured ? RequestState::fulfilled : RequestState::requested);
    cancel(id);
    stop();
  }
  server_.end_session(listening);
}

TEST_F(CloudTest, a_failed_launch_declines_the_request_and_frees_the_others_nodes) {
  start(kCloud);
  const std::string first = request({"large"});
  const std::string reused = read_request(first).nodes.at(0);
  cancel(first);
  cloud_->launch_error.emplace(driver::LaunchError::Kind::failed, "no such flavor");
  const std::string id = request({"small", "large"});
  const NodeRequest answered = read_request(id);
  EXPECT_EQ(answered.state, RequestState::failed);
  ASSERT_THAT(answered.declined_by, SizeIs(1));
  EXPECT_EQ(answered.decline_reasons.at(answered.declined_by[0]), "launch failed: no such flavor");
  const std::vector<Node> left = nodes();
  ASSERT_THAT(left, SizeIs(1));
  EXPECT_EQ(left[0].id, reused);
  EXPECT_EQ(left[0].state, NodeState::ready);
  EXPECT_EQ(left[0].allocated_to, std::nullopt);
  EXPECT_THAT(contenders(), IsEmpty());
}

TEST_F(CloudTest, a_cancelled_request_leaves_its_node_for_others) {
  cloud_->launch_time = seconds(10);
  start(kCloud);
  cancel(request({"small"}));
  pass(seconds(10));
  const std::vector<Node> left = nodes(NodeState::ready);
  ASSERT_THAT(left, SizeIs(1));
  EXPECT_EQ(left[0].allocated_to, std::nullopt);
  EXPECT_THAT(contenders(), IsEmpty());
}

TEST_F(CloudTest, a_failing_pool_leaves_the_request_to_others) {
  start(R"(
labels: [{name: small}]
providers:
  - name: rack
    driver: static
    pools: [{name: main, nodes: [{name: host-a, labels: [small]}]}]
  - name: sky
    driver: cloud
    priority: 10
    pools: [{name: main, labels: [small]}]
)");
  cloud_->launch_error.emplace(driver::LaunchError::Kind::failed, "broken");
  const std::string id = request({"small"});
  EXPECT_EQ(state(id), RequestState::fulfilled);
  EXPECT_THAT(read_request(id).declined_by, SizeIs(1));
}

TEST_F(CloudTest, removed_root_records_are_created_again) {
  start(kCloud);
  for (const std::string root : {"/nodepool/requests-lock", "/nodepool/nodes"}) {
    as_requestor(coordination::remove_tree(*requestor_, root));
    const std::string id = request({"small"});
    pass(seconds(1));
    EXPECT_EQ(state(id), RequestState::fulfilled) << root;
    cancel(id);
  }
}

TEST_F(CloudTest, a_request_for_an_unknown_label_fails_without_the_lock_root) {
  start(kCloud);
  as_requestor(coordination::remove_tree(*requestor_, "/nodepool/requests-lock"));
  EXPECT_EQ(state(request({"unknown"})), RequestState::failed);
}

TEST_F(CloudTest, removed_pools_and_launchers_register_again) {
  start(kCloud);
  as_requestor(coordination::remove_tree(*requestor_, "/nodepool/components"));
  pass(seconds(1));
  EXPECT_THAT(children("/nodepool/components/pool"), SizeIs(1));
  EXPECT_THAT(children("/nodepool/components/launcher"), SizeIs(1));
  EXPECT_FALSE(is_paused());
  EXPECT_EQ(state(request({"small"})), RequestState::fulfilled);
}

TEST_F(CloudTest, an_orderly_stop_leaves_launches_to_be_resumed) {
  cloud_->launch_time = minutes(1);
  start(kCloud);
  const std::string id = request({"small"});
  ASSERT_EQ(state(id), RequestState::pending);
  stop();
  EXPECT_EQ(state(id), RequestState::pending);
  EXPECT_THAT(contenders(), IsEmpty());
  cloud_->launch_time = {};
  start(kCloud);
  pass(seconds(2));
  EXPECT_EQ(state(id), RequestState::fulfilled);
  EXPECT_THAT(nodes(), SizeIs(1));
}

constexpr auto kTwoBusyPools = R"(
labels: [{name: small}, {name: large}]
providers:
  - name: sky
    driver: cloud
    pools:
      - {name: first, labels: [small]}
      - {name: second, labels: [large]}
)";

// Each operation on an unreachable store lasts until a timeout.
TEST_F(CloudTest, a_stop_during_an_outage_waits_once_for_all_pools) {
  cloud_->launch_time = minutes(1);
  start(kTwoBusyPools);
  const std::string small = request({"small"});
  const std::string large = request({"large"});
  ASSERT_EQ(state(small), RequestState::pending);
  ASSERT_EQ(state(large), RequestState::pending);
  process_store().suspend_for_tests();
  settle();
  stalling_store().stall(true);
  begin_to_stop();
  settle();
  EXPECT_EQ(stalling_store().waiting(), 2U) << "the locks of both requests are being released";
  EXPECT_FALSE(has_ended_tasks());
  stalling_store().pass_waiting();  // they fail
  settle();
  EXPECT_TRUE(has_ended_tasks());
}

TEST_F(CloudTest, a_removed_pool_gives_its_requests_back) {
  cloud_->launch_time = minutes(1);
  start(kCloud);
  const std::string id = request({"small"});
  ASSERT_EQ(state(id), RequestState::pending);
  reconfigure("labels: [{name: small}]\nproviders: []\n");
  EXPECT_THAT(contenders(), IsEmpty());
  pass(minutes(15));
  EXPECT_EQ(state(id), RequestState::requested);
}

TEST_F(CloudTest, work_of_a_killed_launcher_is_resumed) {
  cloud_->launch_time = minutes(1);
  start(kCloud);
  const std::string id = request({"small"});
  ASSERT_EQ(state(id), RequestState::pending);
  kill();
  cloud_->launch_time = {};
  start(kCloud);
  pass(minutes(2));
  EXPECT_EQ(state(id), RequestState::fulfilled);
  EXPECT_THAT(nodes(), SizeIs(1));
}

TEST_F(CloudTest, a_lost_session_ends_the_launches_under_its_locks) {
  cloud_->launch_time = minutes(1);
  start(kCloud);
  const std::string id = request({"small"});
  process_store().expire_for_tests();
  settle();
  cloud_->launch_time = {};
  pass(minutes(3));
  EXPECT_EQ(state(id), RequestState::fulfilled);
  EXPECT_THAT(nodes(), SizeIs(1));
  EXPECT_THAT(cloud_->machines, SizeIs(1));
  EXPECT_THAT(contenders(), IsEmpty());
}

}  // namespace
}  // namespace nodepool::launcher
