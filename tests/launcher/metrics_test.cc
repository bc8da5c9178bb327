// The statsd metrics of the launcher. For launches see tests/driver/statemachine.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <sstream>

#include "tests/launcher/launcher_fixture.h"

namespace nodepool::launcher {
namespace {

using std::chrono::seconds;
using testing::Contains;
using testing::IsSupersetOf;
using testing::Not;
using testing::StartsWith;

constexpr auto kMeasuredSky = R"(
labels: [{name: small}, {name: large}]
providers:
  - name: sky
    driver: cloud
    pools: [{name: main, max-servers: 3, labels: [small, large]}]
)";

class LauncherMetricsTest : public LauncherFixture {
 protected:
  LauncherMetricsTest() { metrics_ = listener(lines_); }

  static telemetry::Metrics listener(std::vector<std::string>& lines) {
    return telemetry::Metrics([&lines](std::string_view datagram) {
      std::istringstream text{std::string(datagram)};
      for (std::string line; std::getline(text, line);) lines.push_back(line);
    });
  }

  std::vector<std::string> lines_;
};

TEST_F(LauncherMetricsTest, limits_are_sent_repeatedly) {
  start(R"(
labels: [{name: small}]
tenant-resource-limits:
  - {tenant-name: acme.example, max-servers: 7, max-cores: 20, max-volumes: 2}
providers:
  - name: sky
    driver: cloud
    pools:
      - {name: main, max-servers: 3, labels: [small]}
      - {name: other, max-servers: 4, labels: [small]}
      - {name: off, max-servers: 0, labels: [small]}
  - name: rack
    driver: static
    pools: [{name: main, nodes: []}]
)");
  for (int i = 0; i < 3; ++i) {
    EXPECT_THAT(lines_, IsSupersetOf({"nodepool.provider.sky.max_servers:7|g",
                                      "nodepool.provider.rack.max_servers:inf|g",
                                      "nodepool.tenant_limits.acme_example.cores:20|g",
                                      "nodepool.tenant_limits.acme_example.instances:7|g",
                                      "nodepool.tenant_limits.acme_example.ram:inf|g",
                                      "nodepool.tenant_limits.acme_example.volumes:2|g"}));
    lines_.clear();
    pass(seconds(1));
  }
  reconfigure(kMeasuredSky);
  lines_.clear();
  pass(seconds(1));
  EXPECT_THAT(lines_, Contains("nodepool.provider.sky.max_servers:3|g"));
  EXPECT_THAT(lines_, Not(Contains(testing::HasSubstr("tenant_limits"))));
}

TEST_F(LauncherMetricsTest, nodes_and_requests_are_counted) {
  start(kMeasuredSky);
  EXPECT_THAT(lines_,
              IsSupersetOf({"nodepool.nodes.ready:0|g", "nodepool.provider.sky.nodes.ready:0|g",
                            "nodepool.label.large.nodes.in-use:0|g",
                            "nodepool.provider.sky.pool.main.addressable_requests:0|g"}));
  pass(seconds(10));
  lines_.clear();
  cloud_->launch_time = seconds(20);
  request({"small", "large"});
  pass(seconds(2));
  EXPECT_THAT(lines_, IsSupersetOf({"nodepool.nodes.building:2|g", "nodepool.nodes.deleted:0|g",
                                    "nodepool.provider.sky.nodes.building:2|g",
                                    "nodepool.label.large.nodes.building:1|g",
                                    "nodepool.provider.sky.pool.main.addressable_requests:1|g"}));
}

TEST_F(LauncherMetricsTest, counts_without_changes_are_sent_every_ten_seconds) {
  start(kMeasuredSky);
  lines_.clear();
  pass(seconds(110));
  EXPECT_GE(std::ranges::count(lines_, "nodepool.nodes.ready:0|g"), 11);
}

TEST_F(LauncherMetricsTest, the_wait_of_a_request_is_measured_for_each_of_its_labels) {
  start(kMeasuredSky);
  cloud_->launch_time = seconds(20);
  request({"small", "large", "small"});
  pass(seconds(30));
  EXPECT_THAT(lines_, Contains(StartsWith("nodepool.label.small.request.fulfilled:2")).Times(1));
  EXPECT_THAT(lines_, Contains(StartsWith("nodepool.label.large.request.fulfilled:2")).Times(1));
  request({"small", "small", "small", "small"});
  pass(seconds(1));
  EXPECT_THAT(lines_, Contains(StartsWith("nodepool.label.small.request.failed:")).Times(1));
}

TEST_F(LauncherMetricsTest, the_wait_for_a_label_that_no_pool_offers_is_not_measured) {
  start(kMeasuredSky);
  request({"small", "unheard-of"});
  pass(seconds(1));
  EXPECT_THAT(lines_, Contains(StartsWith("nodepool.label.small.request.failed:")).Times(1));
  EXPECT_THAT(lines_, Not(Contains(StartsWith("nodepool.label.unheard-of.request."))));
}

TEST_F(LauncherMetricsTest, one_launcher_counts_for_all_and_another_one_takes_over) {
  std::vector<std::string> others;
  start(kMeasuredSky);
  metrics_ = listener(others);
  start_another(kMeasuredSky);
  const auto counts = [](const std::vector<std::string>& lines) {
    return std::ranges::count(lines, "nodepool.nodes.ready:0|g");
  };
  pass(seconds(30));
  EXPECT_GT(counts(lines_), 0);
  EXPECT_EQ(counts(others), 0);
  EXPECT_THAT(others, Contains("nodepool.provider.sky.max_servers:3|g"));
  EXPECT_EQ(children("/nodepool/elections/stats").size(), 2U);
  kill();
  pass(seconds(30));
  EXPECT_GT(counts(others), 0);
}

TEST_F(LauncherMetricsTest, without_metrics_a_launcher_is_no_candidate) {
  metrics_ = {};
  start(kMeasuredSky);
  EXPECT_FALSE(exists("/nodepool/elections"));
}

TEST_F(LauncherMetricsTest, vanished_series_are_sent_as_zero) {
  start(kMeasuredSky);
  reconfigure(R"(
labels: [{name: small}]
providers:
  - name: sky
    driver: cloud
    pools: [{name: main, max-servers: 2, labels: [small]}]
)");
  lines_.clear();
  pass(seconds(12));
  EXPECT_THAT(lines_, Contains("nodepool.label.large.nodes.ready:0|g"));
  lines_.clear();
  pass(seconds(24));
  EXPECT_THAT(lines_, Contains("nodepool.label.small.nodes.ready:0|g"));
  EXPECT_THAT(lines_, Not(Contains("nodepool.label.large.nodes.ready:0|g")));
}

}  // namespace
}  // namespace nodepool::launcher
