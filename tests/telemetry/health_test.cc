#include "telemetry/health.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace nodepool::telemetry {
namespace {

using testing::HasSubstr;

std::string metrics_of(const Health& health) {
  MetricsRegistry registry;
  add_health(registry, health);
  return registry.prometheus_text();
}

TEST(HealthTest, obstacles_and_warnings_are_problems) {
  const std::string ready = metrics_of({.obstacles = {}, .warnings = {"the log"}});
  EXPECT_THAT(ready, HasSubstr("\nnodepool_ready 1\n"));
  EXPECT_THAT(ready, HasSubstr("\nnodepool_problems 1\n"));
  const std::string away = metrics_of({.obstacles = {"no store"}, .warnings = {"the log"}});
  EXPECT_THAT(away, HasSubstr("\nnodepool_ready 0\n"));
  EXPECT_THAT(away, HasSubstr("\nnodepool_problems 2\n"));
}

}  // namespace
}  // namespace nodepool::telemetry
