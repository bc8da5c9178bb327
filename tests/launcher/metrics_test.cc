// What statsd is told by the launcher itself; of launches, see tests/driver/statemachine.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/launcher/launcher_fixture.h"

namespace nodepool::launcher {
namespace {

using testing::ElementsAre;

class LauncherMetricsTest : public LauncherFixture {};

TEST_F(LauncherMetricsTest, limits_are_reported_whenever_they_are_configured) {
  start(R"(
labels: [{name: small}]
tenant-resource-limits: [{tenant-name: acme.example, max-servers: 7, max-cores: 20}]
providers:
  - name: sky
    driver: cloud
    pools:
      - {name: main, max-servers: 3, labels: [small]}
      - {name: other, max-servers: 4, labels: [small]}
      - {name: off, max-servers: 0, labels: [small]}
  - name: sea
    driver: cloud
    pools: [{name: main, labels: [small]}]
)");
  EXPECT_THAT(figures_, ElementsAre("nodepool.provider.sky.max_servers:7|g\n"
                                    "nodepool.tenant_limits.acme_example.cores:20|g\n"
                                    "nodepool.tenant_limits.acme_example.instances:7|g"));
  figures_.clear();
  reconfigure(R"(
labels: [{name: small}]
providers:
  - name: sky
    driver: cloud
    pools: [{name: main, max-servers: 2, labels: [small]}]
)");
  EXPECT_THAT(figures_, ElementsAre("nodepool.provider.sky.max_servers:2|g"));
}

}  // namespace
}  // namespace nodepool::launcher
