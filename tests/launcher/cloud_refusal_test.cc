// Launches that a cloud refuses in spite of free quota.

#include <gmock/gmock.h>

#include <algorithm>
#include <string>
#include <vector>

#include "tests/launcher/cloud_fixture.h"

namespace nodepool::launcher {
namespace {

using model::NodeState;
using model::RequestState;
using std::chrono::minutes;
using std::chrono::seconds;
using testing::IsEmpty;
using testing::SizeIs;

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

// A large machine fits on no host, although the hosts together have enough memory for it.
TEST_F(CloudTest, other_labels_are_launched_while_one_is_refused) {
  cloud_->refused = {"large"};
  start(R"(
labels: [{name: small}, {name: large}]
providers:
  - name: sky
    driver: cloud
    pools: [{name: main, labels: [small, large]}, {name: other, priority: 50, labels: [small]}]
)");
  const std::string large = request({"large"});
  EXPECT_EQ(state(request({"small"})), RequestState::fulfilled);
  EXPECT_TRUE(is_paused("main")) << "other providers may serve it";
  pass(seconds(90));
  EXPECT_EQ(state(request({"small"})), RequestState::fulfilled) << "the large one is starved";
  reconfigure(R"(
labels: [{name: small}, {name: large}]
providers:
  - {name: sky, driver: cloud, pools: [{name: main, labels: [small, large]}]}
)");
  EXPECT_EQ(state(request({"small"})), RequestState::fulfilled) << "also of the same pool";
  EXPECT_EQ(state(large), RequestState::requested);
}

TEST_F(CloudTest, no_idle_node_is_evicted_for_a_label_that_the_cloud_refuses) {
  start(kCloud);
  cancel(request({"small", "small"}));
  cloud_->refused = {"large"};
  const std::string large = request({"large"});
  pass(minutes(30));
  EXPECT_THAT(nodes(NodeState::ready), SizeIs(2));
  EXPECT_EQ(state(large), RequestState::requested);
  EXPECT_LE(cloud_->launches, 2 + 31) << "one in a minute";
}

// Others have used the quota, which the refusal shows.
TEST_F(CloudTest, an_idle_node_is_evicted_if_the_provider_turns_out_to_be_full) {
  cloud_->limits = {{"instances", 3}};
  start(kCloud);
  cancel(request({"small", "small"}));
  cloud_->refused = {"large"};
  cloud_->limits = {{"instances", 2}};
  const std::string large = request({"large"});
  EXPECT_THAT(nodes(NodeState::ready), SizeIs(1));
  cloud_->refused.clear();
  pass(seconds(6));
  EXPECT_EQ(state(large), RequestState::fulfilled);
  EXPECT_THAT(nodes(NodeState::ready), SizeIs(2));
}

TEST_F(CloudTest, of_many_refused_requests_one_tries_at_a_time) {
  constexpr int kRequests = 20;
  cloud_->refused = {"small"};
  start(
      "labels: [{name: small}]\n"
      "providers: [{name: sky, driver: cloud, pools: [{name: main, labels: [small]}]}]\n");
  std::vector<std::string> ids;
  for (int i = 0; i < kRequests; ++i) ids.push_back(request({"small"}));
  EXPECT_EQ(cloud_->launches, 1);
  pass(minutes(5));
  EXPECT_LE(cloud_->launches, 1 + 5);
  const auto fulfilled = [&] {
    return std::ranges::count_if(
        ids, [this](const std::string& id) { return state(id) == RequestState::fulfilled; });
  };
  cloud_->refused.clear();
  pass(seconds(50));
  EXPECT_EQ(fulfilled(), 0);
  pass(seconds(20));
  EXPECT_EQ(fulfilled(), kRequests) << "all follow the first one";
}

TEST_F(CloudTest, a_reload_does_not_forget_a_refusal) {
  cloud_->refused = {"large"};
  start(kCloud);
  const std::string large = request({"large"});
  pass(seconds(30));
  std::string changed = kCloud;
  reconfigure(changed.replace(changed.find("max-servers: 3"), 14, "max-servers: 4"));
  pass(seconds(20));
  EXPECT_EQ(cloud_->launches, 1);
  cloud_->refused.clear();
  pass(seconds(11));
  EXPECT_EQ(state(large), RequestState::fulfilled);
}

}  // namespace
}  // namespace nodepool::launcher
