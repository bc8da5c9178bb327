// Launchers with providers that launch nodes.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "coordination/lock.h"
#include "coordination/tree.h"
#include "model/paths.h"
#include "planning/decision.h"
#include "tests/launcher/launcher_fixture.h"

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

constexpr auto kCloud = R"(
labels: [{name: small}, {name: large}]
providers:
  - name: sky
    driver: cloud
    pools:
      - name: main
        max-servers: 3
        node-attributes: {executor-zone: z1}
        labels: [small, large]
)";

constexpr auto kMinReady = R"(
labels: [{name: small, min-ready: 2}]
providers:
  - name: sky
    driver: cloud
    pools: [{name: main, max-servers: 4, labels: [small]}]
)";

class CloudTest : public LauncherFixture {
 protected:
  RequestState state(const std::string& request_id) { return read_request(request_id).state; }
  bool is_paused(const std::string& name = "main") {
    for (const std::string& id : children("/nodepool/components/pool")) {
      const auto entry = as_requestor(requestor_->get("/nodepool/components/pool/" + id));
      const auto pool = model::parse_component(model::Component::Kind::pool, entry);
      if (pool.name == name) return pool.paused;
    }
    ADD_FAILURE() << "no pool " << name;
    return false;
  }
};

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

// A request for three ready nodes, whose checks take 10 seconds.
class CloudCheckTest : public CloudTest {
 protected:
  CloudCheckTest() {
    start(kCloud);
    cancel(request({"small", "small", "small"}));
    nodes_ = nodes(NodeState::ready);
    cloud_->delete_time = minutes(10);
    cloud_->check_time = seconds(10);
  }

  std::string request_them() { return request({"small", "small", "small"}); }
  NodeState state_of_node(std::size_t index) { return read_node(nodes_.at(index).id).state; }
  void end_machine(std::size_t index, const std::string& reason) {
    cloud_->ended[nodes_.at(index).external_id_text()] = reason;
  }

  std::vector<Node> nodes_;
};

TEST_F(CloudCheckTest, ready_nodes_are_checked_concurrently) {
  const std::string id = request_them();
  pass(seconds(9));
  EXPECT_EQ(state(id), RequestState::requested);
  pass(seconds(1));
  EXPECT_EQ(state(id), RequestState::fulfilled);
  EXPECT_EQ(cloud_->launches, 3) << "none is new";
}

TEST_F(CloudCheckTest, all_unusable_nodes_are_taken_out_of_service_at_once) {
  end_machine(0, "spot");
  end_machine(2, "maintenance");
  const std::string id = request_them();
  pass(seconds(10));
  EXPECT_EQ(state_of_node(0), NodeState::deleting);
  EXPECT_EQ(state_of_node(1), NodeState::ready);
  EXPECT_EQ(state_of_node(2), NodeState::deleting);
  EXPECT_EQ(read_node(nodes_[0].id).comment, "spot");
  EXPECT_EQ(read_node(nodes_[2].id).comment, "maintenance");
  EXPECT_EQ(state(id), RequestState::requested);
}

TEST_F(CloudCheckTest, a_failed_check_leaves_no_locks_and_is_retried) {
  cloud_->uncheckable = {nodes_[1].external_id_text()};
  const std::string id = request_them();
  pass(seconds(10));
  EXPECT_THAT(log_, testing::Contains(HasSubstr("the machine cannot be checked")));
  EXPECT_THAT(contenders(), IsEmpty());
  for (std::size_t i = 0; i < nodes_.size(); ++i) EXPECT_EQ(state_of_node(i), NodeState::ready);
  cloud_->uncheckable = {};
  pass(minutes(1));
  EXPECT_EQ(state(id), RequestState::fulfilled);
  EXPECT_EQ(cloud_->launches, 3) << "none is new";
}

TEST_F(CloudCheckTest, a_stop_during_the_checks_leaves_everything_as_it_was) {
  const std::string id = request_them();
  pass(seconds(5));
  EXPECT_THAT(contenders(), SizeIs(4)) << "the request and its nodes";
  stop();
  EXPECT_THAT(contenders(), IsEmpty());
  EXPECT_EQ(state(id), RequestState::requested);
  for (std::size_t i = 0; i < nodes_.size(); ++i) EXPECT_EQ(state_of_node(i), NodeState::ready);
  start(kCloud);
  pass(seconds(10));
  EXPECT_EQ(state(id), RequestState::fulfilled);
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

TEST_F(CloudTest, a_full_pool_pauses_until_a_node_is_gone) {
  cloud_->delete_time = seconds(30);
  start(kCloud);
  const std::string user = request({"small", "small", "small"});
  accept(user);
  EXPECT_FALSE(is_paused());
  const std::string waiting = request({"small"});
  EXPECT_EQ(state(waiting), RequestState::requested);
  EXPECT_TRUE(is_paused());
  EXPECT_EQ(state(request({"unknown"})), RequestState::failed) << "who can decide does so";
  give_back(nodes().front().id);
  EXPECT_EQ(state(waiting), RequestState::requested) << "being deleted still takes room";
  pass(seconds(30));
  EXPECT_EQ(state(waiting), RequestState::fulfilled);
  EXPECT_FALSE(is_paused());
}

TEST_F(CloudTest, the_quota_of_the_provider_counts_for_all_its_pools) {
  cloud_->limits = {{"cores", 8}};
  cloud_->needs["small"] = driver::Resources({{"instances", 1}, {"cores", 4}});
  start(R"(
labels: [{name: small}]
providers:
  - name: sky
    driver: cloud
    pools: [{name: a, labels: [small]}, {name: b, labels: [small]}]
)");
  cloud_->launch_time = seconds(10);
  std::vector<std::string> ids;
  for (int i = 0; i < 4; ++i) ids.push_back(request({"small"}));
  EXPECT_EQ(cloud_->launches, 2);
  pass(seconds(10));
  int fulfilled = 0;
  for (const std::string& id : ids) fulfilled += state(id) == RequestState::fulfilled ? 1 : 0;
  EXPECT_EQ(fulfilled, 2);
  EXPECT_EQ(state(request({"small", "small", "small"})), RequestState::failed)
      << "it would never fit";
}

TEST_F(CloudTest, an_unknown_quota_does_not_block_other_requests) {
  cloud_->limits_failure = "no route to host";
  start(kCloud);
  const std::string waiting = request({"small"});
  EXPECT_EQ(state(waiting), RequestState::requested);
  EXPECT_EQ(state(request({"unknown"})), RequestState::failed);
  cloud_->limits_failure.clear();
  pass(seconds(30));
  EXPECT_EQ(state(waiting), RequestState::fulfilled);
  pass(minutes(60));
  EXPECT_LE(cloud_->questions, 4) << "nobody wants to know";
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

TEST_F(CloudTest, a_launch_that_is_refused_for_quota_is_tried_again_later) {
  start(kCloud);
  cloud_->launch_error.emplace(driver::LaunchError::Kind::quota, "Quota exceeded");
  const std::string id = request({"small"});
  EXPECT_EQ(state(id), RequestState::requested);
  EXPECT_THAT(nodes(), IsEmpty()) << "the aborted node is taken back";
  EXPECT_EQ(cloud_->launches, 1);
  pass(seconds(30));
  EXPECT_EQ(cloud_->launches, 1) << "nothing has changed";
  cloud_->launch_error.reset();
  pass(seconds(31));
  EXPECT_EQ(state(id), RequestState::fulfilled);
  EXPECT_EQ(cloud_->launches, 2);
  EXPECT_THAT(cloud_->machines, SizeIs(1));
}

TEST_F(CloudTest, a_quota_rejection_ends_when_a_machine_is_deleted) {
  start(kCloud);
  const std::string user = request({"small"});
  accept(user);
  cloud_->launch_error.emplace(driver::LaunchError::Kind::quota, "Quota exceeded");
  const std::string waiting = request({"small"});
  cloud_->launch_error.reset();
  give_back(nodes(NodeState::in_use).front().id);
  pass(seconds(6));
  EXPECT_EQ(state(waiting), RequestState::fulfilled);
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

TEST_F(CloudTest, max_concurrency_bounds_the_launches_under_way) {
  cloud_->launch_time = seconds(10);
  start(R"(
labels: [{name: small}]
providers:
  - name: sky
    driver: cloud
    max-concurrency: 2
    pools: [{name: main, labels: [small]}]
)");
  const std::string large = request({"small", "small", "small"});
  const std::string later = request({"small"});
  EXPECT_EQ(cloud_->launches, 2);
  EXPECT_EQ(state(later), RequestState::requested);
  pass(seconds(10));
  EXPECT_EQ(cloud_->launches, 3);
  pass(seconds(10));
  EXPECT_EQ(state(large), RequestState::fulfilled);
  pass(seconds(10));
  EXPECT_EQ(state(later), RequestState::fulfilled);
}

TEST_F(CloudTest, an_idle_node_is_evicted_for_a_request) {
  start(kCloud);
  const std::string first = request({"large", "large", "large"});
  cancel(first);
  ASSERT_THAT(nodes(NodeState::ready), SizeIs(3));
  const std::string id = request({"small"});
  EXPECT_EQ(state(id), RequestState::fulfilled);
  EXPECT_THAT(nodes(), SizeIs(3)) << "one made way, and only one";
}

TEST_F(CloudTest, an_idle_node_of_another_pool_is_evicted_only_after_a_long_wait) {
  cloud_->limits = {{"instances", 2}};
  start(R"(
labels: [{name: small}, {name: large}]
providers:
  - name: sky
    driver: cloud
    pools: [{name: main, labels: [small]}, {name: other, labels: [large]}]
)");
  cancel(request({"large", "large"}));
  const std::string id = request({"small"});
  pass(minutes(4));
  EXPECT_EQ(state(id), RequestState::requested);
  EXPECT_THAT(nodes(NodeState::ready), SizeIs(2));
  pass(minutes(1));
  EXPECT_EQ(state(id), RequestState::fulfilled);
}

TEST_F(CloudTest, while_a_node_is_being_deleted_no_other_is_evicted) {
  cloud_->delete_time = seconds(20);
  start(kCloud);
  cancel(request({"large", "large", "large"}));
  const std::string id = request({"small"});
  pass(seconds(10));
  EXPECT_THAT(nodes(NodeState::deleting), SizeIs(1));
  EXPECT_THAT(nodes(NodeState::ready), SizeIs(2));
  pass(seconds(10));
  EXPECT_EQ(state(id), RequestState::fulfilled);
  EXPECT_THAT(nodes(NodeState::ready), SizeIs(3));
}

TEST_F(CloudTest, a_large_request_is_passed_for_a_while_and_then_comes_first) {
  start(kCloud);
  const std::string one = request({"small"});
  accept(one);
  const std::string two = request({"small", "small"});
  accept(two);
  const std::string held = read_request(request({"large", "large"})).id;
  EXPECT_EQ(state(held), RequestState::requested);
  const std::string node = nodes(NodeState::in_use).front().id;
  give_back(node);
  const std::string small = request({"small"});
  EXPECT_EQ(state(small), RequestState::fulfilled) << "it is passed at first";
  accept(small);
  pass(seconds(61));
  give_back(read_node(nodes(NodeState::in_use).front().id).id);
  const std::string late = request({"small"});
  EXPECT_EQ(state(late), RequestState::requested) << "the room is kept for the large one";
  give_back(nodes(NodeState::in_use).front().id);
  EXPECT_EQ(state(held), RequestState::fulfilled);
  EXPECT_EQ(state(late), RequestState::requested);
  give_back(nodes(NodeState::in_use).front().id);
  EXPECT_EQ(state(late), RequestState::fulfilled) << "and then it is the others' turn";
}

TEST_F(CloudTest, a_tenant_stays_within_its_limit) {
  start(std::string(kCloud) + "tenant-resource-limits: [{tenant-name: acme, max-servers: 1}]\n");
  const auto acme = [](NodeRequest& request) { request.tenant_name = "acme"; };
  const std::string first = request({"small"}, acme);
  const std::string second = request({"small"}, acme);
  EXPECT_EQ(state(first), RequestState::fulfilled);
  EXPECT_EQ(state(second), RequestState::requested);
  EXPECT_FALSE(is_paused()) << "the pool has room";
  EXPECT_EQ(state(request({"small"})), RequestState::fulfilled) << "others are not concerned";
  accept(first);
  give_back(read_node(nodes(NodeState::in_use).front().id).id);
  EXPECT_EQ(state(second), RequestState::fulfilled);
}

TEST_F(CloudTest, an_idle_node_counts_for_its_tenant_and_is_evicted_for_it) {
  start(std::string(kCloud) + "tenant-resource-limits: [{tenant-name: acme, max-servers: 1}]\n");
  cloud_->delete_time = seconds(30);
  const auto acme = [](NodeRequest& request) { request.tenant_name = "acme"; };
  cancel(request({"small"}, acme));
  const std::string id = request({"large"}, acme);
  EXPECT_EQ(state(id), RequestState::requested) << "there is room, but not for this tenant";
  EXPECT_THAT(nodes(NodeState::deleting), SizeIs(1));
  pass(seconds(30));
  EXPECT_EQ(state(id), RequestState::fulfilled);
}

TEST_F(CloudTest, idle_nodes_are_evicted_for_concurrent_requests_of_two_tenants) {
  start(std::string(kCloud) +
        "tenant-resource-limits: [{tenant-name: acme, max-servers: 1}, {tenant-name: umbrella, "
        "max-servers: 1}]\n");
  const auto acme = [](NodeRequest& request) { request.tenant_name = "acme"; };
  const auto umbrella = [](NodeRequest& request) { request.tenant_name = "umbrella"; };
  const std::string first = request({"small"}, acme);
  const std::string second = request({"small"}, umbrella);
  cancel(first);
  cancel(second);
  const std::string of_acme = post_request({"large"}, acme);
  const std::string of_umbrella = post_request({"large"}, umbrella);
  settle();
  EXPECT_EQ(state(of_acme), RequestState::fulfilled);
  EXPECT_EQ(state(of_umbrella), RequestState::fulfilled);
}

// The node cannot be deleted while its provider is not served.
TEST_F(CloudTest, an_idle_node_of_a_tenant_is_evicted_once_its_provider_is_served) {
  const std::string limits =
      "labels: [{name: small}, {name: large}]\n"
      "tenant-resource-limits: [{tenant-name: acme, max-servers: 1}]\n";
  const std::string far =
      limits + "providers: [{name: far, driver: cloud, pools: [{name: main, labels: [small]}]}]\n";
  const std::string near =
      limits + "providers: [{name: near, driver: cloud, pools: [{name: main, labels: [large]}]}]\n";
  const auto acme = [](NodeRequest& request) { request.tenant_name = "acme"; };
  start(far);
  cancel(request({"small"}, acme));
  stop();
  start(near);
  const std::string id = request({"large"}, acme);
  pass(minutes(6));
  EXPECT_EQ(state(id), RequestState::requested);
  start_another(far);
  pass(seconds(5));
  EXPECT_EQ(state(id), RequestState::fulfilled);
}

TEST_F(CloudTest, a_tenant_gets_the_idle_node_that_counts_for_it) {
  start(std::string(kCloud) + "tenant-resource-limits: [{tenant-name: acme, max-servers: 1}]\n");
  const auto acme = [](NodeRequest& request) { request.tenant_name = "acme"; };
  cancel(request({"small"}, acme));
  const std::string id = request({"small"}, acme);
  EXPECT_EQ(state(id), RequestState::fulfilled);
  EXPECT_EQ(cloud_->launches, 1);
}

TEST_F(CloudTest, a_pool_with_a_worse_priority_takes_over_while_the_better_one_is_full) {
  start(R"(
labels: [{name: small}]
providers:
  - name: near
    driver: cloud
    priority: 10
    pools: [{name: main, max-servers: 1, labels: [small]}]
  - name: far
    driver: cloud
    pools: [{name: main, labels: [small]}]
)");
  const auto provider_of = [this](const std::string& id) {
    return read_node(read_request(id).nodes.at(0)).provider;
  };
  EXPECT_EQ(provider_of(request({"small"})), "near");
  EXPECT_EQ(provider_of(request({"small"})), "far");
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

TEST_F(CloudTest, min_ready_nodes_are_kept_in_stock) {
  const std::string yaml = R"(
labels: [{name: small, min-ready: 2}, {name: large, min-ready: 0}]
providers:
  - name: sky
    driver: cloud
    pools: [{name: main, max-servers: 4, labels: [small, large]}]
)";
  cloud_->launch_time = seconds(10);
  start(yaml);
  pass(seconds(1));
  EXPECT_EQ(cloud_->launches, 2);
  pass(seconds(10));
  ASSERT_THAT(nodes(NodeState::ready), SizeIs(2));
  EXPECT_THAT(nodes(), testing::Each(testing::Field(&Node::allocated_to, std::nullopt)));
  EXPECT_THAT(children("/nodepool/requests"), IsEmpty());
  const std::string id = request({"small"});
  EXPECT_EQ(state(id), RequestState::fulfilled) << "from the stock";
  pass(seconds(1));
  EXPECT_EQ(cloud_->launches, 3) << "which is filled up again";
  accept(id);
  pass(seconds(10));
  EXPECT_THAT(nodes(NodeState::ready), SizeIs(2));
  pass(minutes(10));
  EXPECT_EQ(cloud_->launches, 3);
  EXPECT_THAT(contenders(), SizeIs(1)) << "that of the user";
}

TEST_F(CloudTest, min_ready_does_not_compete_for_capacity) {
  start(R"(
labels: [{name: small, min-ready: 5}]
providers:
  - name: sky
    driver: cloud
    pools: [{name: main, max-servers: 2, labels: [small]}]
)");
  pass(seconds(1));
  EXPECT_THAT(nodes(NodeState::ready), SizeIs(2));
  EXPECT_FALSE(is_paused());
  EXPECT_EQ(state(request({"small"})), RequestState::fulfilled);
  pass(minutes(10));
  EXPECT_THAT(nodes(), SizeIs(2));
}

TEST_F(CloudTest, min_ready_requests_only_obtainable_labels) {
  cloud_->label_problems["small"] = "images are not available: no ready upload of image";
  start(kMinReady);
  int asked = 0;
  const coordination::Subscription requests =
      requestor_->watch("/nodepool/requests", [&asked](const coordination::WatchEvent& event) {
        asked += event.kind == coordination::WatchEvent::Kind::created ? 1 : 0;
      });
  pass(minutes(3));
  EXPECT_EQ(asked, 0);
  cloud_->label_problems.clear();
  as_requestor(coordination::ensure_path(*requestor_, "/nodepool/images/image"));
  pass(seconds(2));
  EXPECT_EQ(asked, 2) << "at once when there are new images";
  EXPECT_THAT(nodes(NodeState::ready), SizeIs(2));
}

TEST_F(CloudTest, min_ready_checks_again_whether_a_label_is_obtainable) {
  cloud_->label_problems["small"] = "no such flavor";
  start(kMinReady);
  pass(seconds(2));
  cloud_->label_problems.clear();
  pass(minutes(1));
  EXPECT_THAT(nodes(NodeState::ready), SizeIs(2));
}

TEST_F(CloudTest, min_ready_requests_have_distinct_event_ids) {
  cloud_->launch_time = minutes(1);
  start(kMinReady);
  pass(seconds(2));
  std::set<std::string> events;
  for (const std::string& id : children("/nodepool/requests")) {
    events.insert(read_request(id).event_id.value_or(""));
  }
  EXPECT_THAT(events, SizeIs(2));
  EXPECT_THAT(events, testing::Each(SizeIs(32)));
}

TEST_F(CloudTest, a_very_large_min_ready_is_requested_in_steps) {
  cloud_->launch_time = minutes(1);
  start(R"(
labels: [{name: small, min-ready: 10000}]
providers:
  - name: sky
    driver: cloud
    pools: [{name: main, labels: [small]}]
)");
  pass(seconds(30));
  EXPECT_THAT(children("/nodepool/requests"), SizeIs(100));
  pass(seconds(33));
  EXPECT_THAT(nodes(NodeState::ready), SizeIs(100));
  EXPECT_THAT(children("/nodepool/requests"), SizeIs(100)) << "for the next ones";
  stop();
}

TEST_F(CloudTest, min_ready_waits_longer_after_each_failure) {
  cloud_->launch_error.emplace(driver::LaunchError::Kind::failed, "broken");
  start(R"(
labels: [{name: small, min-ready: 1}]
providers:
  - name: sky
    driver: cloud
    pools: [{name: main, labels: [small]}]
)");
  pass(minutes(10));
  EXPECT_GT(cloud_->launches, 8);
  EXPECT_LT(cloud_->launches, 16);
  EXPECT_THAT(children("/nodepool/requests"), IsEmpty());
  cloud_->launch_error.reset();
  pass(minutes(1));
  EXPECT_THAT(nodes(NodeState::ready), SizeIs(1));
}

TEST_F(CloudTest, two_launchers_do_not_both_fill_the_stock) {
  const std::string yaml = R"(
labels: [{name: small, min-ready: 2}]
providers:
  - name: sky
    driver: cloud
    pools: [{name: main, labels: [small]}]
)";
  cloud_->launch_time = seconds(10);
  start(yaml);
  start_another(yaml);
  pass(seconds(30));
  EXPECT_THAT(nodes(NodeState::ready), SizeIs(2));
}

// No reservation remains when a pool is removed from the configuration.
TEST_F(CloudTest, a_removed_pool_leaves_no_reservation) {
  const std::string one_pool = R"(
labels: [{name: small}, {name: large}]
providers:
  - name: sky
    driver: cloud
    pools: [{name: a, labels: [small]}
)";
  const std::string both_pools = one_pool + "           , {name: b, labels: [large]}]";
  cloud_->limits = {{"instances", 2}};
  start(one_pool + "]");
  for (int steps = 0; steps < 60; ++steps) {
    SCOPED_TRACE(testing::Message() << "reload after " << steps << " continuations");
    reconfigure(both_pools);
    const std::string served_by_b = post_request({"large"});
    for (int i = 0; i < steps; ++i) step();
    reconfigure(one_pool + "]");
    cancel(served_by_b);
    const std::string served_by_a = request({"small", "small"});
    pass(minutes(10));
    ASSERT_EQ(state(served_by_a), RequestState::fulfilled);
    cancel(served_by_a);
  }
}

TEST_F(CloudTest, two_launchers_of_one_provider_share_its_work_and_its_limits) {
  cloud_->launch_time = seconds(10);
  start(kCloud);
  start_another(kCloud);
  std::vector<std::string> ids;
  for (int i = 0; i < 12; ++i) ids.push_back(request({"small"}));
  int served = 0;
  for (int round = 0; round < 40 && served < 12; ++round) {
    pass(seconds(5));
    EXPECT_LE(nodes().size(), 3u);
    for (const std::string& id : ids) {
      if (!exists(model::request_path(id)) || state(id) != RequestState::fulfilled) continue;
      const std::string node = read_request(id).nodes.at(0);
      accept(id);
      give_back(node);
      ++served;
    }
  }
  EXPECT_EQ(served, 12);
  EXPECT_THAT(nodes(), IsEmpty());
  EXPECT_THAT(contenders(), IsEmpty());
}

// Each launcher serves one pool of the same provider.
constexpr auto kOnePool = R"(
labels: [{name: small, min-ready: 0}, {name: large}]
providers:
  - name: sky
    driver: cloud
    pools: [{name: one, labels: [small]}]
)";
constexpr auto kOtherPool = R"(
labels: [{name: small}, {name: large}]
providers:
  - name: sky
    driver: cloud
    pools: [{name: other, labels: [large]}]
)";

TEST_F(CloudTest, an_unused_node_does_not_block_the_capacity_of_another_launcher) {
  cloud_->limits = {{"instances", 1}};
  cloud_->delete_time = seconds(30);
  start(kOnePool);
  start_another(kOtherPool);
  cancel(request({"small"}));
  ASSERT_THAT(nodes(NodeState::ready), SizeIs(1));
  const std::string waiting = request({"large"});
  pass(minutes(4));
  EXPECT_EQ(state(waiting), RequestState::requested) << "what another launcher has made counts";
  EXPECT_THAT(nodes(), SizeIs(1));
  pass(minutes(2));
  EXPECT_EQ(state(waiting), RequestState::fulfilled);
  EXPECT_THAT(nodes(), SizeIs(1));
}

TEST_F(CloudTest, min_ready_nodes_are_evicted_for_a_request_of_another_launcher) {
  std::string keeps_stock = kOnePool;
  keeps_stock.replace(keeps_stock.find("min-ready: 0"), 12, "min-ready: 1");
  cloud_->limits = {{"instances", 1}};
  cloud_->launch_time = seconds(10);
  cloud_->delete_time = seconds(30);
  start(keeps_stock);
  start_another(kOtherPool);
  pass(seconds(15));
  ASSERT_THAT(nodes(NodeState::ready), SizeIs(1));
  for (int i = 0; i < 5; ++i) {
    const std::string waiting = request({"large"});
    pass(minutes(8));
    ASSERT_EQ(state(waiting), RequestState::fulfilled) << "request " << i;
    const std::string node = read_request(waiting).nodes.at(0);
    accept(waiting);
    give_back(node);
    pass(minutes(3));
    ASSERT_THAT(nodes(NodeState::ready), SizeIs(1)) << "the stock is filled up again";
  }
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

TEST_F(CloudTest, min_ready_requests_nodes_without_the_request_root) {
  start(kMinReady);
  as_requestor(coordination::remove_tree(*requestor_, "/nodepool/requests"));
  pass(seconds(3));
  EXPECT_THAT(nodes(NodeState::ready), SizeIs(2));
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

TEST_F(CloudTest, an_orderly_stop_resets_pending_requests) {
  cloud_->launch_time = minutes(1);
  start(kCloud);
  const std::string id = request({"small"});
  ASSERT_EQ(state(id), RequestState::pending);
  stop();
  EXPECT_EQ(state(id), RequestState::requested);
  EXPECT_THAT(contenders(), IsEmpty());
  cloud_->launch_time = {};
  start(kCloud);
  EXPECT_EQ(state(id), RequestState::fulfilled);
  EXPECT_THAT(nodes(), SizeIs(1)) << "what was begun is taken back";
}

TEST_F(CloudTest, a_removed_pool_gives_its_requests_back) {
  cloud_->launch_time = minutes(1);
  start(kCloud);
  const std::string id = request({"small"});
  ASSERT_EQ(state(id), RequestState::pending);
  reconfigure("labels: [{name: small}]\nproviders: []\n");
  EXPECT_EQ(state(id), RequestState::requested);
  EXPECT_THAT(contenders(), IsEmpty());
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
