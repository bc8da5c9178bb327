#include "driver/launch_metrics.h"

#include <gtest/gtest.h>

#include <string>

namespace nodepool::driver {
namespace {

TEST(LaunchMetrics, a_launch_counts_for_its_provider_zone_and_requestor) {
  std::string sent;
  const telemetry::Metrics metrics(
      [&sent](std::string_view datagram) { sent += std::string(datagram) + "\n"; });
  async::VirtualClock clock;
  model::Node node;
  node.provider = "rack";
  const LaunchMetrics launch(metrics, clock);
  clock.advance_by(std::chrono::seconds(2));
  launch.ended(kLaunchReady, node);
  EXPECT_EQ(sent,
            "nodepool.launch.ready:2000.000000|ms\n"
            "nodepool.launch.ready:1|c\n"
            "nodepool.launch.provider.rack.ready:2000.000000|ms\n"
            "nodepool.launch.provider.rack.ready:1|c\n");
  sent.clear();
  node.az = "az1";
  node.requestor = "NodePool:min-ready";
  launch.ended(result_of({CloudError::Kind::quota, "no"}), node);
  EXPECT_EQ(sent,
            "nodepool.launch.error.quota:2000.000000|ms\n"
            "nodepool.launch.error.quota:1|c\n"
            "nodepool.launch.provider.rack.error.quota:2000.000000|ms\n"
            "nodepool.launch.provider.rack.error.quota:1|c\n"
            "nodepool.launch.provider.rack.az1.error.quota:2000.000000|ms\n"
            "nodepool.launch.provider.rack.az1.error.quota:1|c\n"
            "nodepool.launch.requestor.NodePool_min-ready.error.quota:2000.000000|ms\n"
            "nodepool.launch.requestor.NodePool_min-ready.error.quota:1|c\n");
}

TEST(LaunchMetrics, calls_of_the_cloud_count_for_the_label) {
  std::string sent;
  const telemetry::Metrics metrics(
      [&sent](std::string_view datagram) { sent += std::string(datagram) + "\n"; });
  async::VirtualClock clock;
  model::Node node;
  node.provider = "sky";
  node.type = {"debian-12", "debian"};
  const LaunchMetrics launch(metrics, clock);
  launch.called(0, node);
  launch.called(4, node);
  EXPECT_EQ(sent, "nodepool.provider.sky.launch_calls.debian-12:4|c\n");
}

TEST(LaunchMetrics, cloud_errors_have_the_names_of_the_python_nodepool) {
  using Kind = CloudError::Kind;
  EXPECT_EQ(result_of({Kind::no_capacity, "full"}), "error.capacity");
  EXPECT_EQ(result_of({Kind::failed, "in vain"}), "error.status");
  EXPECT_EQ(result_of({Kind::failed, "no floating IP", kLaunchAddressTimedOut}), "error.ipadd");
  for (const Kind kind :
       {Kind::not_found, Kind::auth, Kind::unknown_outcome, Kind::transient, Kind::permanent}) {
    EXPECT_EQ(result_of({kind, "in vain"}), "error.unknown");
  }
}

}  // namespace
}  // namespace nodepool::driver
