#include "launcher/provider_quota.h"

#include <gmock/gmock.h>

#include "config/yaml.h"
#include "tests/launcher/cloud_double.h"
#include "tests/launcher/parts_fixture.h"

namespace nodepool::launcher {
namespace {

using std::chrono::minutes;
using std::chrono::seconds;

class ProviderQuotaTest : public PartsFixture {
 protected:
  ProviderQuotaTest() {
    cloud_->limits = {{"instances", 5}};
    quota_.start();
    subscription_ = quota_.observe([this] { ++changes_; });
    settle();
  }
  ~ProviderQuotaTest() override { loop_.run(quota_.stop()); }

  std::shared_ptr<driver::Provider> make_provider() {
    config::Config config;
    const config::ProviderSection section{
        .name = "sky",
        .driver = "cloud",
        .max_concurrency = 2,
        .value = config::parse_yaml("{name: sky, driver: cloud, pools: []}", "nodepool.yaml")};
    return driver_.provider(driver_.configure(section, config),
                            {runtime_, store_, nodes_, images_, threads_, log_});
  }

  std::shared_ptr<Cloud> cloud_ = std::make_shared<Cloud>();
  CloudDriver driver_{cloud_};
  ProviderQuota quota_{runtime_, make_provider(), log_};
  int changes_ = 0;
  coordination::Subscription subscription_;
};

TEST_F(ProviderQuotaTest, a_stale_quota_is_refreshed_on_demand) {
  ASSERT_EQ(quota_.available(), (driver::Limits{{"instances", 5}}));
  EXPECT_EQ(cloud_->questions, 1);
  cloud_->limits = {{"instances", 6}};
  pass(minutes(6));
  EXPECT_EQ(cloud_->questions, 1) << "no request needs it";
  EXPECT_EQ(quota_.available(), (driver::Limits{{"instances", 5}})) << "until the new one is there";
  settle();
  EXPECT_EQ(quota_.available(), (driver::Limits{{"instances", 6}}));
  EXPECT_EQ(cloud_->questions, 2);
}

TEST_F(ProviderQuotaTest, a_decision_is_made_again_after_each_query_that_it_wanted) {
  quota_.facts();
  changes_ = 0;
  pass(minutes(4));
  EXPECT_EQ(cloud_->questions, 1);
  EXPECT_FALSE(quota_.facts().is_stale);
  pass(minutes(1));
  EXPECT_EQ(cloud_->questions, 2);
  EXPECT_EQ(changes_, 1) << "although nothing has changed";
  pass(minutes(20));
  EXPECT_EQ(cloud_->questions, 2) << "no request needs it";
  EXPECT_TRUE(quota_.facts().is_stale);
  settle();
  EXPECT_EQ(cloud_->questions, 3);
  EXPECT_FALSE(quota_.facts().is_stale);
}

TEST_F(ProviderQuotaTest, a_decision_during_a_query_is_made_again_after_it) {
  pass(minutes(6));
  cloud_->limits_time = seconds(10);
  quota_.available();
  pass(seconds(5));
  ASSERT_EQ(cloud_->questions, 2);
  EXPECT_TRUE(quota_.facts().is_stale);
  changes_ = 0;
  pass(seconds(5));
  EXPECT_EQ(changes_, 1);
  EXPECT_EQ(cloud_->questions, 2);
}

TEST_F(ProviderQuotaTest, a_decision_is_made_again_after_a_query_because_of_a_failed_launch) {
  quota_.facts();
  changes_ = 0;
  EXPECT_TRUE(loop_.run(quota_.responds()));
  EXPECT_EQ(changes_, 1);
}

TEST_F(ProviderQuotaTest, a_stale_quota_stays_in_use_while_the_cloud_fails) {
  cloud_->limits_failure = "no route to host";
  pass(minutes(6));
  quota_.available();
  settle();
  EXPECT_EQ(quota_.available(), (driver::Limits{{"instances", 5}}));
  EXPECT_EQ(quota_.failure(), "no route to host");
}

TEST_F(ProviderQuotaTest, a_rejection_ends_after_a_minute_or_when_a_machine_is_deleted) {
  quota_.refused();
  EXPECT_TRUE(quota_.is_refusing());
  pass(seconds(59));
  EXPECT_TRUE(quota_.is_refusing());
  pass(seconds(1));
  EXPECT_FALSE(quota_.is_refusing());

  quota_.refused();
  quota_.capacity_freed();
  pass(seconds(4));
  EXPECT_TRUE(quota_.is_refusing()) << "that may have been what was left of the refused one";
  changes_ = 0;
  pass(seconds(1));
  EXPECT_FALSE(quota_.is_refusing());
  EXPECT_EQ(changes_, 1);
}

TEST_F(ProviderQuotaTest, a_limit_that_grows_ends_a_rejection_and_one_that_shrinks_does_not) {
  quota_.refused();
  cloud_->limits = {{"instances", 4}};
  settle();
  EXPECT_EQ(quota_.available(), cloud_->limits);
  pass(seconds(30));
  EXPECT_TRUE(quota_.is_refusing());
  quota_.refused();
  cloud_->limits = {{"instances", 9}};
  settle();
  EXPECT_TRUE(quota_.is_refusing()) << "that may have been what was left of the refused one";
  pass(seconds(5));
  EXPECT_FALSE(quota_.is_refusing());
}

TEST_F(ProviderQuotaTest, waiters_are_notified_when_launches_end) {
  quota_.launches()->begin("a", 2);
  quota_.launches()->begin("b", 1);
  EXPECT_EQ(quota_.launches()->under_way(), 3);
  changes_ = 0;
  quota_.launches()->end_all("a");
  EXPECT_EQ(quota_.launches()->under_way(), 1);
  EXPECT_EQ(changes_, 1);
}

TEST_F(ProviderQuotaTest, no_more_launches_run_at_once_than_max_concurrency) {
  const auto first = loop_.run(quota_.launch_slot());
  auto second = loop_.run(quota_.launch_slot());
  bool has_third = false;
  const auto take = [](ProviderQuota& quota, bool& has) -> Task<> {
    const auto slot = co_await quota.launch_slot();
    has = true;
  };
  scope_.spawn("third", take(quota_, has_third));
  settle();
  EXPECT_FALSE(has_third);
  second.reset();
  settle();
  EXPECT_TRUE(has_third);
}

}  // namespace
}  // namespace nodepool::launcher
