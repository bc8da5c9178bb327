// The keys that dashboards of the Python Nodepool's launcher expect, from a launcher with a cloud
// and static hosts that has served requests and reclaimed nodes.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>
#include <sstream>
#include <string>

#include "tests/launcher/launcher_fixture.h"

namespace nodepool::launcher {
namespace {

using std::chrono::seconds;
using testing::IsSupersetOf;

constexpr auto kMixedSite = R"(
labels: [{name: small}, {name: large}, {name: host}]
tenant-resource-limits:
  - {tenant-name: acme, max-servers: 7, max-ram: 64000}
providers:
  - name: sky
    driver: fake
    cloud: fake
    cloud-images: [{name: Fake Precise}]
    pools:
      - name: main
        max-servers: 3
        availability-zones: [az1]
        labels:
          - {name: small, cloud-image: Fake Precise, flavor-name: Fake Flavor}
          - {name: large, cloud-image: Fake Precise, flavor-name: Fake Flavor}
  - name: rack
    driver: static
    pools:
      - name: main
        max-servers: 2
        nodes: [{name: 192.0.2.1, labels: [host], username: ci, host-key-checking: false}]
)";

class StatsdKeysTest : public LauncherFixture {
 protected:
  StatsdKeysTest() {
    metrics_ = telemetry::Metrics([this](std::string_view datagram) {
      std::istringstream text{std::string(datagram)};
      for (std::string line; std::getline(text, line);) {
        sent_.insert(line.substr(0, line.find(':')) + line.substr(line.find('|')));
      }
    });
  }

  // Each with its type, as "key|g".
  std::set<std::string> sent_;
};

// A timer is counted under the same key.
std::set<std::string> timed(const std::string& key) {
  return {key + "|ms", key + "|c"};
}

std::set<std::string> nodes_by_state(const std::string& prefix) {
  std::set<std::string> keys;
  for (const char* state : {"building", "testing", "ready", "in-use", "used", "hold", "deleting",
                            "failed", "init", "aborted", "deleted"}) {
    keys.insert(prefix + "nodes." + state + "|g");
  }
  return keys;
}

TEST_F(StatsdKeysTest, of_nodes_requests_and_limits_are_all_there) {
  start(kMixedSite);
  pass(seconds(2));
  EXPECT_THAT(sent_, IsSupersetOf(nodes_by_state("nodepool.")));
  for (const char* provider : {"sky", "rack"}) {
    const std::string prefix = std::string("nodepool.provider.") + provider + ".";
    EXPECT_THAT(sent_, IsSupersetOf(nodes_by_state(prefix)));
    EXPECT_THAT(sent_, IsSupersetOf({prefix + "max_servers|g",
                                     prefix + "pool.main.addressable_requests|g"}));
  }
  for (const char* label : {"small", "large", "host"}) {
    EXPECT_THAT(sent_, IsSupersetOf(nodes_by_state(std::string("nodepool.label.") + label + ".")));
  }
  EXPECT_THAT(sent_, IsSupersetOf({"nodepool.tenant_limits.acme.cores|g",
                                   "nodepool.tenant_limits.acme.instances|g",
                                   "nodepool.tenant_limits.acme.ram|g"}));
}

TEST_F(StatsdKeysTest, of_the_launchers_own_queues_are_there) {
  start(kMixedSite);
  for (const char* queue : {"client.connection_queue", "node_cache.event_queue",
                            "request_cache.event_queue", "image_cache.event_queue"}) {
    EXPECT_THAT(sent_, testing::Contains(std::string("nodepool.launcher.host.zk.") + queue + "|g"));
  }
}

TEST_F(StatsdKeysTest, of_launches_are_there_by_provider_zone_and_requestor) {
  start(kMixedSite);
  const std::string id = request({"small"}, [](model::NodeRequest& request_spec) {
    request_spec.requestor = "NodePool:min.ready";
  });
  pass(seconds(5));
  ASSERT_EQ(read_request(id).state, model::RequestState::fulfilled);
  EXPECT_THAT(sent_, IsSupersetOf(timed("nodepool.launch.ready")));
  EXPECT_THAT(sent_, IsSupersetOf(timed("nodepool.launch.provider.sky.ready")));
  EXPECT_THAT(sent_, IsSupersetOf(timed("nodepool.launch.provider.sky.az1.ready")));
  EXPECT_THAT(sent_, IsSupersetOf(timed("nodepool.launch.requestor.NodePool_min_ready.ready")));
}

TEST_F(StatsdKeysTest, each_stage_of_a_launch_and_of_a_removal_is_timed) {
  start(kMixedSite);
  const std::string id = request({"small"});
  pass(seconds(5));
  ASSERT_EQ(read_request(id).state, model::RequestState::fulfilled);
  for (const char* stage :
       {"decided", "reserved", "turn", "created", "active", "port", "keys", "ready"}) {
    EXPECT_THAT(sent_,
                testing::Contains(std::string("nodepool.provider.sky.stage.") + stage + "|ms"));
  }
  accept(id);
  give_back(nodes(model::NodeState::in_use).front().id);
  pass(seconds(5));
  for (const char* stage : {"accepted", "gone"}) {
    EXPECT_THAT(sent_,
                testing::Contains(std::string("nodepool.provider.sky.deletion.") + stage + "|ms"));
  }
}

}  // namespace
}  // namespace nodepool::launcher
