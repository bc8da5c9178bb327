// Limits of pools, providers and tenants, evictions, and the order of requests.

#include <gmock/gmock.h>

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
using testing::IsEmpty;
using testing::SizeIs;

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

TEST_F(CloudTest, a_request_is_not_declined_because_of_what_the_cloud_told_long_ago) {
  cloud_->limits = {{"cores", 2}};
  cloud_->needs["small"] = driver::Resources({{"instances", 1}, {"cores", 4}});
  cloud_->label_problems["large"] = "there is no flavor `big`";
  start(kCloud);
  EXPECT_EQ(state(request({"small"})), RequestState::failed);
  EXPECT_EQ(state(request({"large"})), RequestState::failed);
  pass(minutes(11));
  cloud_->limits = {{"cores", 8}};
  cloud_->label_problems.clear();
  EXPECT_EQ(state(request({"small"})), RequestState::fulfilled);
  EXPECT_EQ(state(request({"large"})), RequestState::fulfilled);
  pass(minutes(11));
  EXPECT_EQ(state(request({"small", "small", "small"})), RequestState::failed);
}

// What others use has no events.
TEST_F(CloudTest, a_request_that_waits_for_the_quota_is_served_when_others_use_less) {
  cloud_->limits = {{"cores", 8}};
  cloud_->needs["small"] = driver::Resources({{"instances", 1}, {"cores", 4}});
  start(kCloud);
  accept(request({"small", "small"}));
  const std::string waiting = request({"small"});
  pass(minutes(21));
  EXPECT_EQ(state(waiting), RequestState::requested);
  EXPECT_LE(cloud_->questions, 6) << "one in five minutes";
  cloud_->limits = {{"cores", 12}};
  pass(minutes(5));
  EXPECT_EQ(state(waiting), RequestState::fulfilled);
}

constexpr auto kTwoPools = R"(
labels: [{name: small}, {name: large}]
providers:
  - name: sky
    driver: cloud
    pools: [{name: a, labels: [large]}, {name: b, labels: [small]}]
)";

TEST_F(CloudTest, a_large_request_is_not_passed_for_ever_by_those_for_another_pool) {
  cloud_->limits = {{"instances", 4}};
  start(kTwoPools);
  for (int i = 0; i < 4; ++i) accept(request({"small"}));
  const std::string large = request({"large", "large", "large", "large"});
  std::vector<std::string> small;
  for (int i = 0; i < 4; ++i) small.push_back(request({"small"}));
  pass(seconds(61));
  for (const Node& node : nodes(NodeState::in_use)) {
    give_back(node.id);
    pass(seconds(1));
  }
  EXPECT_EQ(state(large), RequestState::fulfilled);
  for (const std::string& id : small) EXPECT_EQ(state(id), RequestState::requested);
  accept(large);
  for (const Node& node : nodes(NodeState::in_use)) give_back(node.id);
  for (const std::string& id : small) EXPECT_EQ(state(id), RequestState::fulfilled);
}

TEST_F(CloudTest, those_behind_a_large_request_are_served_when_it_is_withdrawn) {
  cloud_->limits = {{"instances", 4}};
  start(kTwoPools);
  for (int i = 0; i < 4; ++i) accept(request({"small"}));
  const std::string large = request({"large", "large", "large", "large"});
  const std::string small = request({"small"});
  pass(seconds(61));
  give_back(nodes(NodeState::in_use).front().id);
  pass(seconds(1));
  EXPECT_EQ(state(small), RequestState::requested);
  cancel(large);
  EXPECT_EQ(state(small), RequestState::fulfilled);
}

TEST_F(CloudTest, a_starved_request_is_passed_by_those_that_do_not_need_what_it_lacks) {
  cloud_->limits = {{"gpus", 1}, {"instances", 4}};
  cloud_->needs["large"] = driver::Resources({{"instances", 1}, {"gpus", 1}});
  start(kTwoPools);
  accept(request({"large"}));
  const std::string starved = request({"large"});
  pass(minutes(6));
  EXPECT_EQ(state(request({"small"})), RequestState::fulfilled);
  EXPECT_EQ(state(starved), RequestState::requested);
  give_back(nodes(NodeState::in_use).front().id);
  EXPECT_EQ(state(starved), RequestState::fulfilled);
}

constexpr auto kTwoAtOnce = R"(
labels: [{name: small}]
providers:
  - name: sky
    driver: cloud
    max-concurrency: 2
    pools: [{name: main, labels: [small]}]
)";

TEST_F(CloudTest, max_concurrency_bounds_the_launches_under_way) {
  cloud_->launch_time = seconds(10);
  start(kTwoAtOnce);
  const std::string large = request({"small", "small", "small"});
  const std::string later = request({"small"});
  EXPECT_EQ(cloud_->launches, 2);
  EXPECT_EQ(state(later), RequestState::requested);
  pass(seconds(10));
  EXPECT_EQ(cloud_->launches, 4) << "launches that have ended do not count for the large request";
  pass(seconds(10));
  EXPECT_EQ(state(large), RequestState::fulfilled);
  EXPECT_EQ(state(later), RequestState::fulfilled);
}

// The changed label replaces the provider.
TEST_F(CloudTest, a_reload_does_not_exceed_max_concurrency) {
  cloud_->launch_time = seconds(10);
  start(kTwoAtOnce);
  request({"small", "small", "small"});
  pass(seconds(5));
  std::string changed = kTwoAtOnce;
  reconfigure(
      changed.replace(changed.find("labels: [small]}"), 16, "priority: 1, labels: [small]}"));
  const std::string later = request({"small"});
  EXPECT_EQ(cloud_->launches, 2);
  pass(seconds(5));
  EXPECT_EQ(cloud_->launches, 4) << "two of the first three have ended";
  pass(seconds(10));
  EXPECT_EQ(state(later), RequestState::fulfilled);
}

TEST_F(CloudTest, launches_in_progress_count_for_a_changed_max_concurrency) {
  cloud_->launch_time = seconds(10);
  start(kCloud);
  request({"small"});
  pass(seconds(5));
  const std::string limited = std::string(kCloud) + "    max-concurrency: 1\n";
  reconfigure(limited);
  request({"small"});
  EXPECT_EQ(cloud_->launches, 1);
  reconfigure(kCloud);
  EXPECT_EQ(cloud_->launches, 2) << "there is no limit any more";
}

TEST_F(CloudTest, a_reload_that_forbids_launches_does_not_hasten_those_in_progress) {
  cloud_->launch_time = seconds(10);
  start(kTwoAtOnce);
  request({"small", "small", "small", "small", "small"});
  std::string changed = kTwoAtOnce;
  reconfigure(changed.replace(changed.find("max-concurrency: 2"), 18, "max-concurrency: 0"));
  EXPECT_EQ(cloud_->launches, 2);
  pass(seconds(10));
  EXPECT_EQ(cloud_->launches, 4);
}

TEST_F(CloudTest, a_withdrawn_request_launches_no_further_nodes) {
  cloud_->launch_time = seconds(10);
  start(kTwoAtOnce);
  const std::string large = request({"small", "small", "small", "small", "small"});
  pass(seconds(5));
  cancel(large);
  pass(seconds(10));
  EXPECT_EQ(cloud_->launches, 2);
  EXPECT_THAT(nodes(NodeState::ready), SizeIs(2)) << "which others may use";
  EXPECT_THAT(nodes(), SizeIs(2));
}

TEST_F(CloudTest, the_ready_nodes_of_a_resumed_request_do_not_count_as_launches) {
  cloud_->launch_time = seconds(10);
  start(kTwoAtOnce);
  const std::string large = request({"small", "small", "small"});
  pass(seconds(15));
  ASSERT_THAT(nodes(NodeState::ready), SizeIs(2));
  kill();
  start(kTwoAtOnce);
  pass(seconds(1));
  ASSERT_EQ(cloud_->launches, 4) << "the third node is launched again";
  request({"small"});
  EXPECT_EQ(cloud_->launches, 5);
  pass(seconds(10));
  EXPECT_EQ(state(large), RequestState::fulfilled);
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

TEST_F(CloudTest, a_request_waits_while_its_tenants_limit_is_lowered) {
  const auto limited = [](int most) {
    return std::string(kCloud) +
           "tenant-resource-limits: [{tenant-name: acme, max-servers: " + std::to_string(most) +
           "}]\n";
  };
  start(limited(0));
  const auto acme = [](NodeRequest& request) { request.tenant_name = "acme"; };
  cancel(request({"small"}));
  const std::string one = request({"small"}, acme);
  const std::string two = request({"small", "small"}, acme);
  pass(seconds(600));
  EXPECT_EQ(state(one), RequestState::requested);
  EXPECT_THAT(nodes(NodeState::ready), SizeIs(1)) << "no idle node is evicted for it";
  EXPECT_FALSE(is_paused());
  reconfigure(limited(1));
  EXPECT_EQ(state(one), RequestState::fulfilled);
  EXPECT_EQ(state(two), RequestState::requested);
  reconfigure(limited(3));
  EXPECT_EQ(state(two), RequestState::fulfilled);
}

// The nodes of the pool with the worse priority count less for a tenant.
constexpr auto kTenantLimits = R"(
labels: [{name: small}]
tenant-resource-limits: [{tenant-name: acme, max-servers: 2, max-cores: 2}]
providers:
)";
constexpr auto kBetterPool = R"(
  - {name: near, driver: cloud, pools: [{name: main, priority: 10, labels: [small]}]}
)";
constexpr auto kWorsePool = R"(
  - name: rack
    driver: static
    pools: [{name: main, nodes: [{name: host-a, labels: [small], max-parallel-jobs: 3}]}]
)";

TEST_F(CloudTest, what_exceeds_its_tenants_limit_is_left_to_a_pool_with_a_worse_priority) {
  cloud_->needs["small"] = driver::Resources({{"instances", 1}, {"cores", 4}});
  const auto acme = [](NodeRequest& request) { request.tenant_name = "acme"; };
  start(std::string(kTenantLimits) + kBetterPool);
  const std::string one = request({"small"}, acme);
  const std::string three = request({"small", "small", "small"}, acme);
  pass(minutes(1));
  EXPECT_EQ(state(one), RequestState::requested);
  start_another(std::string(kTenantLimits) + kWorsePool);
  pass(minutes(1));
  ASSERT_EQ(state(one), RequestState::fulfilled);
  EXPECT_EQ(read_node(read_request(one).nodes.at(0)).provider, "rack");
  EXPECT_EQ(state(three), RequestState::requested) << "it exceeds the limit everywhere";
  EXPECT_THAT(read_request(three).declined_by, IsEmpty());
}

TEST_F(CloudTest, what_the_cloud_told_long_ago_leaves_no_request_to_a_pool_with_a_worse_priority) {
  cloud_->needs["small"] = driver::Resources({{"instances", 1}, {"cores", 4}});
  start(std::string(kTenantLimits) + kBetterPool + kWorsePool);
  pass(minutes(11));
  cloud_->limits_time = seconds(10);
  const std::string id =
      request({"small"}, [](NodeRequest& request) { request.tenant_name = "acme"; });
  EXPECT_EQ(state(id), RequestState::requested);
  cloud_->needs["small"] = driver::Resources({{"instances", 1}, {"cores", 2}});
  pass(seconds(11));
  ASSERT_EQ(state(id), RequestState::fulfilled);
  EXPECT_EQ(read_node(read_request(id).nodes.at(0)).provider, "near");
}

TEST_F(CloudTest, a_request_beyond_its_tenants_limit_is_served_once_its_label_needs_less) {
  cloud_->needs["small"] = driver::Resources({{"instances", 1}, {"cores", 4}});
  start(std::string(kCloud) + "tenant-resource-limits: [{tenant-name: acme, max-cores: 2}]\n");
  const std::string id =
      request({"small"}, [](NodeRequest& request) { request.tenant_name = "acme"; });
  pass(minutes(6));
  EXPECT_EQ(state(id), RequestState::requested);
  cloud_->needs["small"] = driver::Resources({{"instances", 1}, {"cores", 2}});
  pass(minutes(6));
  EXPECT_EQ(state(id), RequestState::fulfilled);
}

// The node was made when the label was larger.
TEST_F(CloudTest, an_existing_node_counts_for_a_tenant_as_it_is_recorded) {
  cloud_->needs["small"] = driver::Resources({{"instances", 1}, {"cores", 2}});
  start(std::string(kCloud) + "tenant-resource-limits: [{tenant-name: acme, max-cores: 6}]\n");
  const std::string first = request({"small"});
  Node node = read_node(read_request(first).nodes.at(0));
  cancel(first);
  node = read_node(node.id);
  node.resources = driver::Resources({{"instances", 1}, {"cores", 5}}).to_json();
  as_requestor(
      requestor_->set(model::node_path(node.id), to_record(node), coordination::kAnyVersion));
  const std::string id =
      request({"small", "small"}, [](NodeRequest& request) { request.tenant_name = "acme"; });
  pass(seconds(10));
  EXPECT_EQ(state(id), RequestState::requested);
  const std::string other = request({"large"});
  EXPECT_EQ(read_request(other).nodes.at(0), "0000000001") << "no other node was begun meanwhile";
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

TEST_F(CloudTest, nothing_is_evicted_for_a_request_that_another_launcher_serves) {
  start(R"(
labels: [{name: small}, {name: large}]
providers:
  - name: sky
    driver: cloud
    pools: [{name: main, max-servers: 1, labels: [small, large]}]
)");
  start_another(R"(
labels: [{name: small}]
providers:
  - name: sea
    driver: cloud
    pools: [{name: main, max-servers: 1, labels: [small]}]
)");
  cancel(request({"large"}));
  ASSERT_THAT(nodes(NodeState::ready), SizeIs(1));
  accept(request({"small"}));
  pass(seconds(5));
  EXPECT_THAT(nodes(NodeState::ready), SizeIs(1));
  const std::string second = request({"small"});
  EXPECT_EQ(state(second), RequestState::requested) << "the other one has been given a moment";
  pass(seconds(3));
  EXPECT_EQ(state(second), RequestState::fulfilled);
  EXPECT_THAT(nodes(NodeState::ready), SizeIs(1)) << "the idle node has made way";
}

TEST_F(CloudTest, unused_nodes_are_evicted_although_the_clock_was_set_back) {
  cloud_->limits = {{"instances", 1}};
  start(kOnePool);
  start_another(kOtherPool);
  cancel(request({"small"}));
  ASSERT_THAT(nodes(NodeState::ready), SizeIs(1));
  const std::string waiting = request({"large"});
  clock_.shift_wall_clock(-3600);
  pass(minutes(11));
  EXPECT_EQ(state(waiting), RequestState::fulfilled);
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

TEST_F(CloudTest, one_node_is_evicted_for_a_request_by_all_pools_of_a_full_provider_together) {
  cloud_->limits = {{"instances", 2}};
  cloud_->delete_time = seconds(30);
  start(R"(
labels: [{name: small}, {name: medium}, {name: large}]
providers:
  - name: sky
    driver: cloud
    pools: [{name: one, labels: [small, large]}, {name: two, labels: [medium, large]}]
)");
  cancel(request({"small"}));
  cancel(request({"medium"}));
  ASSERT_THAT(nodes(NodeState::ready), SizeIs(2));
  const std::string waiting = request({"large"});
  EXPECT_THAT(nodes(NodeState::deleting), SizeIs(1));
  pass(seconds(30));
  EXPECT_EQ(state(waiting), RequestState::fulfilled);
  EXPECT_THAT(nodes(NodeState::ready), SizeIs(2)) << "one is still idle";
}

TEST_F(CloudTest, a_node_of_another_provider_wakes_no_pool_without_a_waiting_request) {
  constexpr std::size_t kPools = 200;
  std::string site = R"(
labels: [{name: small}]
providers:
  - name: sky
    driver: cloud
    pools:
)";
  for (std::size_t i = 0; i < kPools; ++i) {
    site += "      - {name: pool-" + std::to_string(i) + ", labels: [small]}\n";
  }
  start(site);
  Node elsewhere;
  elsewhere.provider = "sea";
  elsewhere.pool = "main";
  elsewhere.type = {"small"};
  elsewhere.resources = driver::Resources({{"instances", 1}}).to_json();
  elsewhere.set_state(NodeState::ready, clock_.wall_seconds());
  const std::string path = as_requestor(requestor_->create(
      model::node_path(""), to_record(elsewhere), coordination::CreateMode::persistent_sequential));
  EXPECT_LT(settle(), kPools) << "it is free";
  as_requestor(requestor_->remove(path, coordination::kAnyVersion));
  EXPECT_LT(settle(), kPools) << "its usage ends";
}

// One pool has declined the request, which waits until another one has capacity.
TEST_F(CloudTest, only_changes_of_pools_make_a_pool_decide_anew) {
  log_level_ = telemetry::LogLevel::debug;
  start(R"(
labels: [{name: small}]
providers:
  - name: sky
    driver: cloud
    pools:
      - {name: one, max-servers: 1, labels: [small]}
      - {name: two, max-servers: 2, labels: [small]}
)");
  accept(request({"small", "small"}));
  const std::string waiting = request({"small", "small"});
  ASSERT_EQ(state(waiting), RequestState::requested);
  const auto decisions = [this] {
    return std::ranges::count_if(
        log_, [](const std::string& line) { return line.contains("Waiting: "); });
  };
  ASSERT_GT(decisions(), 0);
  log_.clear();
  model::Component component;
  component.hostname = "other";
  component.kind = model::Component::Kind::builder;
  as_requestor(coordination::ensure_path(*requestor_, "/nodepool/components/builder"));
  const std::string builder =
      as_requestor(requestor_->create("/nodepool/components/builder/other", to_record(component),
                                      coordination::CreateMode::ephemeral_sequential));
  settle();
  component.started = 1;
  component.problems = {"the disk is full"};
  as_requestor(requestor_->set(builder, to_record(component), coordination::kAnyVersion));
  settle();
  EXPECT_EQ(decisions(), 0);

  component = {};
  component.hostname = "other";
  component.kind = model::Component::Kind::pool;
  const std::string pool =
      as_requestor(requestor_->create("/nodepool/components/pool/other", to_record(component),
                                      coordination::CreateMode::ephemeral_sequential));
  settle();
  EXPECT_GT(decisions(), 0) << "the registry has another pool";
  log_.clear();
  as_requestor(requestor_->set(pool, to_record(component), coordination::kAnyVersion));
  settle();
  EXPECT_EQ(decisions(), 0) << "nothing has changed";
  component.supported_labels = {"small"};
  as_requestor(requestor_->set(pool, to_record(component), coordination::kAnyVersion));
  settle();
  EXPECT_GT(decisions(), 0);
}

}  // namespace
}  // namespace nodepool::launcher
