// What statsd is told of launches and leaks.

#include "tests/driver/statemachine/provider_test.h"

namespace nodepool::driver {
namespace {

using testing::Contains;
using testing::ElementsAre;

class ProviderMetricsTest : public ProviderTest {
 protected:
  // The results of the counters nodepool.launch.provider.cloud.RESULT, in order.
  std::vector<std::string> results() const {
    constexpr std::string_view kPrefix = "nodepool.launch.provider.cloud.";
    std::vector<std::string> results;
    for (const std::string& lines : figures_) {
      const std::size_t begin = lines.find(kPrefix);
      if (begin == std::string::npos) continue;
      const std::size_t end = lines.find(':', begin);
      results.push_back(lines.substr(begin + kPrefix.size(), end - begin - kPrefix.size()));
    }
    return results;
  }
};

TEST_F(ProviderMetricsTest, every_attempt_has_a_result) {
  cloud_->fail("make server", {CloudError::Kind::no_capacity});
  launch_new();
  EXPECT_THAT(results(), ElementsAre("error.capacity", "ready"));
}

TEST_F(ProviderMetricsTest, an_attempt_that_takes_too_long_has_timed_out) {
  config_->launch_retries_ = 2;
  cloud_->boot_time = std::chrono::hours(100);
  launch_error();
  EXPECT_THAT(results(), ElementsAre("error.servercreatetimeout", "error.servercreatetimeout"));
}

TEST_F(ProviderMetricsTest, a_machine_without_an_address_cannot_be_reached) {
  config_->launch_retries_ = 1;
  cloud_->described.interface_ip.reset();
  launch_error();
  EXPECT_THAT(results(), ElementsAre("error.network"));
}

TEST_F(ProviderMetricsTest, quota_errors_are_counted_separately) {
  cloud_->fail("make server", {CloudError::Kind::quota});
  launch_error();
  EXPECT_THAT(results(), ElementsAre("error.quota"));
}

TEST_F(ProviderMetricsTest, leaks_that_were_deleted_are_counted_by_type) {
  const Metadata lost{{std::string(kNodeIdKey), "0000009999"},
                      {std::string(kProviderNameKey), "cloud"},
                      {std::string(kInstallationIdKey), harness::kInstallationId}};
  cloud_->others = {{"volume", "v1", lost}};
  start();
  process_->run(process_->provider().launching()->remove_leaks());
  process_->run(process_->provider().launching()->remove_leaks());
  EXPECT_THAT(figures_, Contains("nodepool.provider.cloud.leaked.volumes:1|c"));
}

TEST_F(ProviderMetricsTest, leftovers_are_deleted_at_once_and_counted) {
  for (const std::string id : {"p1", "p2", "p3"}) {
    cloud_->others.push_back(
        {.type = "port", .id = id, .metadata = {}, .leftover = "it was unused"});
  }
  cloud_->others.push_back(
      {.type = "floatingip", .id = "f1", .metadata = {}, .leftover = "it was not attached"});
  start();
  process_->run(process_->provider().launching()->remove_leaks());
  EXPECT_THAT(figures_, Contains("nodepool.provider.cloud.leaked.ports:1|c").Times(3));
  EXPECT_THAT(figures_, Contains("nodepool.provider.cloud.leaked.floatingips:1|c"));
}

}  // namespace
}  // namespace nodepool::driver
