#include "launcher/handled_requests.h"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include <string>
#include <utility>
#include <vector>

#include "tests/launcher/launcher_fixture.h"

namespace nodepool::launcher {
namespace {

using model::NodeRequest;
using model::RequestState;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

TEST(HandledRequests, are_handled_as_long_as_their_mark_exists) {
  HandledRequests requests;
  std::vector<std::string> released;
  const auto subscription =
      requests.observe([&released](const std::string& id) { released.push_back(id); });
  {
    HandledRequests::Mark mark = requests.mark("100-1");
    HandledRequests::Mark other = requests.mark("100-2");
    EXPECT_TRUE(requests.contains("100-1"));
    const HandledRequests::Mark moved = std::move(mark);
    other.release();
    EXPECT_TRUE(requests.contains("100-1"));
    EXPECT_FALSE(requests.contains("100-2"));
    EXPECT_THAT(released, ElementsAre("100-2"));
  }
  EXPECT_FALSE(requests.contains("100-1"));
  EXPECT_THAT(released, ElementsAre("100-2", "100-1"));
}

// `hosts_of_last`: of the last pool; each other one has a single host.
std::string many_pools(int hosts_of_last) {
  std::string yaml = "labels: [{name: small}]\nproviders:\n";
  constexpr int kPools = 10;
  for (int i = 0; i < kPools; ++i) {
    yaml +=
        fmt::format("  - name: rack-{}\n    driver: static\n    pools: [{{name: main, nodes: [", i);
    for (int host = 0; host < (i == kPools - 1 ? hosts_of_last : 1); ++host) {
      yaml += fmt::format("{{name: host-{}-{}, labels: [small]}}, ", i, host);
    }
    yaml += "]}]\n";
  }
  return yaml;
}

class OwnPoolsTest : public LauncherFixture {};

// Neither test lets time pass: a pool whose attempt at a lock fails pauses.
TEST_F(OwnPoolsTest, the_only_pool_that_can_serve_a_request_does_so_while_the_others_decline) {
  start(many_pools(2));
  const NodeRequest answered = read_request(request({"small", "small"}));
  EXPECT_EQ(answered.state, RequestState::fulfilled);
  EXPECT_THAT(answered.nodes, SizeIs(2));
  EXPECT_THAT(contenders(), IsEmpty());
}

// The full provider decides first, as its name comes first.
TEST_F(OwnPoolsTest, no_idle_node_is_evicted_for_a_request_that_another_pool_serves) {
  start(R"(
labels: [{name: small}, {name: large}]
providers:
  - name: a-full
    driver: cloud
    pools: [{name: main, max-servers: 1, labels: [small, large]}]
  - name: b-free
    driver: cloud
    pools: [{name: main, labels: [large]}]
)");
  const std::string withdrawn = request({"small"});
  cancel(withdrawn);
  EXPECT_EQ(read_request(request({"large"})).state, RequestState::fulfilled);
  EXPECT_EQ(cloud_->deletions, 0);
}

TEST_F(OwnPoolsTest, all_pools_decline_one_after_the_other) {
  start(many_pools(1));
  const NodeRequest answered = read_request(request({"huge"}));
  EXPECT_EQ(answered.state, RequestState::failed);
  EXPECT_THAT(answered.declined_by, SizeIs(10));
  EXPECT_THAT(contenders(), IsEmpty());
}

}  // namespace
}  // namespace nodepool::launcher
