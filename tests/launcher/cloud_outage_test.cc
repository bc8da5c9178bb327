// Requests while a cloud does not respond.

#include <gmock/gmock.h>

#include <string>
#include <vector>

#include "coordination/tree.h"
#include "tests/launcher/cloud_fixture.h"

namespace nodepool::launcher {
namespace {

using model::RequestState;
using std::chrono::minutes;
using std::chrono::seconds;
using testing::ElementsAre;
using testing::EndsWith;
using testing::IsEmpty;
using testing::UnorderedElementsAre;

TEST_F(CloudTest, a_request_is_not_declined_while_the_cloud_does_not_respond) {
  cloud_->limits = {{"cores", 2}};
  cloud_->needs["large"] = driver::Resources({{"instances", 1}, {"cores", 4}});
  start(kCloud);
  cloud_->limits_failure = "no route to host";
  pass(minutes(11));
  const std::string waiting = request({"large"});
  pass(minutes(60));
  EXPECT_EQ(state(waiting), RequestState::requested);
  const std::string fitting = request({"small"});
  EXPECT_EQ(state(fitting), RequestState::requested) << "a launch would fail";
  EXPECT_TRUE(is_paused()) << "for other pools to serve them";
  cloud_->limits_failure.clear();
  pass(seconds(10));
  EXPECT_EQ(state(waiting), RequestState::failed);
  EXPECT_EQ(state(fitting), RequestState::fulfilled);
  EXPECT_FALSE(is_paused());
}

TEST_F(CloudTest, a_check_that_fails_for_hours_is_logged_once_until_it_works_again) {
  const std::string failure = "Could not check for leaked resources, retrying: no route to host";
  start(kCloud);
  for (std::size_t outage = 1; outage <= 2; ++outage) {
    cloud_->leak_failure = "no route to host";
    pass(minutes(60));
    EXPECT_THAT(log_, testing::Contains(EndsWith(failure)).Times(outage));
    cloud_->leak_failure.clear();
    pass(minutes(2));
  }
}

TEST_F(CloudTest, ready_nodes_are_handed_out_while_the_cloud_does_not_respond) {
  start(kCloud);
  cancel(request({"small"}));
  cloud_->limits_failure = "no route to host";
  pass(minutes(11));
  EXPECT_EQ(state(request({"large"})), RequestState::requested);
  EXPECT_EQ(state(request({"small"})), RequestState::fulfilled);
}

TEST_F(CloudTest, a_launch_that_gets_no_response_is_made_after_the_outage) {
  start(kCloud);
  cloud_->launch_error.emplace(driver::LaunchError::Kind::unanswered, "503 Service Unavailable");
  cloud_->limits_failure = "no route to host";
  const std::string id = request({"small"});
  EXPECT_EQ(cloud_->launches, 1);
  EXPECT_EQ(state(id), RequestState::requested);
  EXPECT_THAT(read_request(id).declined_by, IsEmpty());
  pass(minutes(60));
  EXPECT_EQ(state(id), RequestState::requested);
  EXPECT_EQ(cloud_->launches, 1);
  cloud_->launch_error.reset();
  cloud_->limits_failure.clear();
  pass(seconds(10));
  EXPECT_EQ(state(id), RequestState::fulfilled);
}

TEST_F(CloudTest, a_pool_that_ignores_the_quota_waits_for_the_end_of_an_outage_too) {
  start(R"(
labels: [{name: small}]
providers:
  - {name: sky, driver: cloud, pools: [{name: main, labels: [small], ignore-provider-quota: true}]}
)");
  cloud_->launch_error.emplace(driver::LaunchError::Kind::unanswered, "503 Service Unavailable");
  cloud_->limits_failure = "no route to host";
  const std::string id = request({"small"});
  pass(minutes(60));
  EXPECT_EQ(state(id), RequestState::requested);
  EXPECT_EQ(cloud_->launches, 1);
  EXPECT_TRUE(is_paused());
  cloud_->launch_error.reset();
  cloud_->limits_failure.clear();
  pass(seconds(10));
  EXPECT_EQ(state(id), RequestState::fulfilled);
}

TEST_F(CloudTest, a_resumed_launch_that_gets_no_response_is_made_after_the_outage) {
  cloud_->launch_time = seconds(10);
  start(kCloud);
  const std::string id = request({"small"});
  kill();
  start(kCloud);
  cloud_->launch_error.emplace(driver::LaunchError::Kind::unanswered, "503 Service Unavailable");
  cloud_->limits_failure = "no route to host";
  pass(minutes(1));
  EXPECT_EQ(cloud_->launches, 2) << "the first one and the resumed one";
  EXPECT_EQ(state(id), RequestState::requested);
  cloud_->launch_error.reset();
  cloud_->limits_failure.clear();
  pass(seconds(20));
  EXPECT_EQ(state(id), RequestState::fulfilled);
}

TEST_F(CloudTest, a_launch_that_a_replaced_provider_cannot_complete_is_resumed_by_its_successor) {
  cloud_->launch_time = seconds(10);
  start(kCloud);
  const std::string id = request({"small", "small"});
  const auto begun = nodes();
  ASSERT_EQ(begun.size(), 2U);
  cloud_->launch_error.emplace(driver::LaunchError::Kind::replaced, "401 Unauthorized");
  reconfigure(std::string(kCloud) + "    max-concurrency: 5\n");
  pass(seconds(10));
  EXPECT_EQ(state(id), RequestState::pending);
  cloud_->launch_error.reset();
  pass(seconds(20));
  EXPECT_EQ(state(id), RequestState::fulfilled);
  EXPECT_THAT(read_request(id).nodes, UnorderedElementsAre(begun[0].id, begun[1].id));
  EXPECT_THAT(read_request(id).declined_by, IsEmpty());
  EXPECT_EQ(cloud_->launches, 4);
}

TEST_F(CloudTest, a_replaced_provider_resumes_nothing_until_its_successor_has_started) {
  cloud_->launch_time = seconds(1);
  start(kCloud);
  const std::string id = request({"small"});
  const auto begun = nodes();
  ASSERT_EQ(begun.size(), 1U);
  cloud_->launch_error.emplace(driver::LaunchError::Kind::replaced, "401 Unauthorized");
  cloud_->start_time = seconds(15);
  begin_to_reconfigure(std::string(kCloud) + "    max-concurrency: 5\n");
  pass(seconds(10));
  EXPECT_EQ(state(id), RequestState::pending);
  EXPECT_EQ(cloud_->launches, 1);
  cloud_->launch_error.reset();
  pass(seconds(10));
  EXPECT_EQ(state(id), RequestState::fulfilled);
  EXPECT_THAT(read_request(id).nodes, ElementsAre(begun[0].id));
  EXPECT_EQ(cloud_->launches, 2);
}

TEST_F(CloudTest, a_cloud_that_responds_but_launches_nothing_has_its_request_declined) {
  start(kCloud);
  cloud_->launch_error.emplace(driver::LaunchError::Kind::unanswered, "503 Service Unavailable");
  EXPECT_EQ(state(request({"small"})), RequestState::failed);
  EXPECT_EQ(cloud_->launches, 1);
}

TEST_F(CloudTest, requests_that_fail_together_share_a_query_of_the_quota) {
  start(kCloud);
  cloud_->launch_time = seconds(1);
  cloud_->limits_time = seconds(10);
  cloud_->launch_error.emplace(driver::LaunchError::Kind::unanswered, "503 Service Unavailable");
  std::vector<std::string> ids;
  for (int i = 0; i < 3; ++i) ids.push_back(request({"small"}));
  const int before = cloud_->questions;
  pass(seconds(12));
  for (const std::string& id : ids) EXPECT_EQ(state(id), RequestState::failed);
  EXPECT_EQ(cloud_->questions, before + 1);
}

// The first pool would serve them, were it not for its cloud.
TEST_F(CloudTest, another_pool_serves_a_label_that_a_silent_cloud_may_have_again) {
  cloud_->label_problems["large"] = "there is no flavor `big`";
  start(R"(
labels: [{name: large}]
providers:
  - {name: sky, driver: cloud, pools: [{name: main, priority: 1, labels: [large]}]}
  - name: rack
    driver: static
    pools: [{name: main, priority: 100, nodes: [{name: host-a, labels: [large]}]}]
)");
  cloud_->limits_failure = "no route to host";
  pass(minutes(11));
  const std::string id = request({"large"});
  pass(seconds(1));
  EXPECT_EQ(state(id), RequestState::fulfilled);
}

TEST_F(CloudTest, a_launch_is_left_to_others_only_if_a_pool_of_another_provider_may_serve_it) {
  start(R"(
labels: [{name: small}, {name: large}]
providers:
  - {name: sky, driver: cloud, pools: [{name: main, priority: 1, labels: [small, large]},
                                       {name: second, priority: 2, labels: [small]}]}
  - name: rack
    driver: static
    pools: [{name: main, priority: 100, nodes: [{name: host-a, labels: [large]}]}]
)");
  request({"small"});
  EXPECT_EQ(cloud_->launches, 1);
  EXPECT_FALSE(cloud_->may_be_left) << "the other pool has the same cloud";
  cloud_->launch_error.emplace(driver::LaunchError::Kind::unanswered, "503 Service Unavailable");
  cloud_->limits_failure = "no route to host";
  const std::string id = request({"large"});
  pass(seconds(10));
  EXPECT_EQ(cloud_->launches, 2);
  EXPECT_TRUE(cloud_->may_be_left);
  EXPECT_EQ(state(id), RequestState::fulfilled) << "by the other provider";
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

TEST_F(CloudTest, images_that_change_together_have_the_problems_published_once) {
  start(kCloud);
  pass(seconds(2));
  const auto published = [this] {
    const std::string root = "/nodepool/components/launcher";
    const std::string path = root + "/" + children(root).at(0);
    const auto entry = as_requestor(requestor_->get(path));
    return model::parse_component(model::Component::Kind::launcher, entry).problems;
  };
  const auto change_image = [this](int number) {
    const std::string path = "/nodepool/images/image-" + std::to_string(number);
    as_requestor(coordination::ensure_path(*requestor_, path));
    settle();
  };
  const int before = cloud_->offers;
  for (int i = 0; i < 20; ++i) change_image(i);
  EXPECT_GE(cloud_->offers - before, 1);
  EXPECT_LE(cloud_->offers - before, 2) << "each visits all labels";
  cloud_->label_problems["large"] = "its image has no upload";
  change_image(20);
  EXPECT_THAT(published(), IsEmpty()) << "later";
  pass(seconds(1));
  EXPECT_THAT(published(), ElementsAre(EndsWith("its image has no upload")));
}

}  // namespace
}  // namespace nodepool::launcher
