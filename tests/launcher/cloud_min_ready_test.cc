// `min-ready`: nodes in stock.

#include <gmock/gmock.h>

#include "coordination/tree.h"
#include "tests/launcher/cloud_fixture.h"

namespace nodepool::launcher {
namespace {

using model::Node;
using model::NodeState;
using model::RequestState;
using std::chrono::minutes;
using std::chrono::seconds;
using testing::IsEmpty;
using testing::SizeIs;

constexpr auto kMinReady = R"(
labels: [{name: small, min-ready: 2}]
providers:
  - name: sky
    driver: cloud
    pools: [{name: main, max-servers: 4, labels: [small]}]
)";

std::string without_limits(int min_ready) {
  return "labels: [{name: small, min-ready: " + std::to_string(min_ready) +
         "}]\n"
         "providers: [{name: sky, driver: cloud, pools: [{name: main, labels: [small]}]}]\n";
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

TEST_F(CloudTest, min_ready_requests_that_are_removed_are_made_again_after_growing_pauses) {
  cloud_->launch_time = minutes(5);
  start(without_limits(2));
  for (int i = 0; i < 100; ++i) {
    for (const std::string& id : children("/nodepool/requests")) cancel(id);
    pass(std::chrono::milliseconds(200));
  }
  EXPECT_LE(cloud_->launches, 8) << "in 20 seconds";
  EXPECT_GE(cloud_->launches, 4);
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
  start(without_limits(10000));
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

TEST_F(CloudTest, min_ready_does_not_wait_for_a_provider_that_cannot_start) {
  cloud_->launch_error.emplace(driver::LaunchError::Kind::failed, "broken");
  start(R"(
labels: [{name: small, min-ready: 1}]
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
        labels: [{name: small, cloud-image: Fake Precise, flavor-name: Fake Flavor}]
)");
  pass(minutes(10));
  EXPECT_GT(cloud_->launches, 8);
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

TEST_F(CloudTest, min_ready_requests_nodes_without_the_request_root) {
  start(kMinReady);
  as_requestor(coordination::remove_tree(*requestor_, "/nodepool/requests"));
  pass(seconds(3));
  EXPECT_THAT(nodes(NodeState::ready), SizeIs(2));
}

}  // namespace
}  // namespace nodepool::launcher
