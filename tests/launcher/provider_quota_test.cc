#include "launcher/provider_quota.h"

#include <gmock/gmock.h>

#include "config/yaml.h"
#include "telemetry/log_errors.h"
#include "tests/launcher/cloud_double.h"
#include "tests/launcher/parts_fixture.h"

namespace nodepool::launcher {
namespace {

using std::chrono::minutes;
using std::chrono::seconds;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

class ProviderQuotaTest : public PartsFixture {
 protected:
  ProviderQuotaTest() {
    cloud_->limits = {{"instances", 5}};
    quota_.start();
    subscription_ = quota_.observe([this] { ++changes_; });
    settle();
  }
  ~ProviderQuotaTest() override {
    loop_.run(scope_.stop());
    loop_.run(quota_.stop());
  }

  std::shared_ptr<driver::Provider> make_provider(std::int64_t max_concurrency = 2) {
    config::Config config;
    const config::ProviderSection section{
        .name = "sky",
        .driver = "cloud",
        .max_concurrency = max_concurrency,
        .value = config::parse_yaml("{name: sky, driver: cloud, pools: []}", "nodepool.yaml")};
    return driver_.provider(driver_.configure(section, config),
                            {runtime_, store_, nodes_, images_, threads_, log_});
  }

  // Takes a slot in a task of its own, and keeps it.
  void take_slot(ProviderQuota& quota) {
    const auto take = [](ProviderQuota& of, std::vector<async::Slots::Hold>& held) -> Task<> {
      async::Slots::Hold slot = co_await of.launch_slot();
      held.push_back(std::move(slot));
    };
    scope_.spawn("take a slot", take(quota, slots_));
    settle();
  }

  // The next query of the quota has not been sent yet.
  void ask_whether_it_responds() {
    const auto ask = [](ProviderQuota& quota, std::vector<bool>& responses) -> Task<> {
      const bool responds = co_await quota.responds(quota.queries());
      responses.push_back(responds);
    };
    scope_.spawn("ask", ask(quota_, responses_));
    settle();
  }

  std::shared_ptr<Cloud> cloud_ = std::make_shared<Cloud>();
  CloudDriver driver_{cloud_};
  std::shared_ptr<ProviderLaunches> launches_ = std::make_shared<ProviderLaunches>();
  ProviderQuota quota_{runtime_, make_provider(), log_, launches_};
  const PoolLabel small_{"main", "small"};
  const PoolLabel large_{"main", "large"};
  std::vector<async::Slots::Hold> slots_;
  std::vector<bool> responses_;
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
  EXPECT_TRUE(loop_.run(quota_.responds(quota_.queries())));
  EXPECT_EQ(changes_, 1);
}

TEST_F(ProviderQuotaTest, failed_launches_share_a_query) {
  const std::int64_t seen = quota_.queries();
  cloud_->limits_time = seconds(10);
  for (int i = 0; i < 3; ++i) ask_whether_it_responds();
  EXPECT_EQ(cloud_->questions, 2) << "the first one was at the start";
  pass(seconds(10));
  EXPECT_EQ(cloud_->questions, 3) << "the second one was sent before two launches failed";
  EXPECT_THAT(responses_, SizeIs(1));
  pass(seconds(10));
  EXPECT_THAT(responses_, ElementsAre(true, true, true));
  EXPECT_TRUE(loop_.run(quota_.responds(seen)));
  EXPECT_EQ(cloud_->questions, 3) << "it has responded since then";
}

TEST_F(ProviderQuotaTest, launches_that_fail_during_an_outage_send_no_query_each) {
  cloud_->limits_time = seconds(10);
  cloud_->limits_failure = "no route to host";
  for (int i = 0; i < 3; ++i) ask_whether_it_responds();
  pass(seconds(10));
  EXPECT_THAT(responses_, ElementsAre(false, false, false));
  EXPECT_LE(cloud_->questions, 3);
}

TEST_F(ProviderQuotaTest, a_query_of_a_cancelled_caller_is_sent_by_another_one) {
  cloud_->limits_time = seconds(10);
  async::TaskScope launch(runtime_, telemetry::log_errors(log_));
  const auto ask = [](ProviderQuota& quota) -> Task<> { co_await quota.responds(quota.queries()); };
  launch.spawn("a launch that failed", ask(quota_));
  settle();
  ask_whether_it_responds();
  pass(seconds(1));
  loop_.run(launch.stop());
  pass(seconds(10));
  EXPECT_THAT(responses_, ElementsAre(true));
}

TEST_F(ProviderQuotaTest, a_stale_quota_stays_in_use_while_the_cloud_fails) {
  cloud_->limits_failure = "no route to host";
  pass(minutes(6));
  quota_.available();
  settle();
  EXPECT_EQ(quota_.available(), (driver::Limits{{"instances", 5}}));
  EXPECT_EQ(quota_.failure(), "no route to host");
}

TEST_F(ProviderQuotaTest, an_outage_is_logged_when_it_begins_and_when_it_ends) {
  std::vector<std::string> messages;
  const telemetry::Logger log(
      telemetry::Log::to_consumer(
          [&messages](telemetry::LogLevel, std::string_view, std::string_view message) {
            messages.emplace_back(message);
          },
          telemetry::LogLevel::info),
      "test");
  ProviderQuota quota(runtime_, make_provider(), log, launches_);
  quota.start();
  settle();
  for (int outage = 0; outage < 2; ++outage) {
    cloud_->limits_failure = "no route to host";
    pass(minutes(6));
    const int before = cloud_->questions;
    quota.available();
    pass(minutes(10));
    EXPECT_GT(cloud_->questions, before + 10);
    cloud_->limits_failure.clear();
    pass(minutes(1));
  }
  loop_.run(quota.stop());
  const std::string begins =
      "Could not query the quota of the provider, retrying: no route to host";
  const std::string ends = "The quota of the provider is known again";
  EXPECT_THAT(messages, ElementsAre(begins, ends, begins, ends));
}

TEST_F(ProviderQuotaTest, a_rejection_ends_after_a_minute_or_when_a_machine_is_deleted) {
  quota_.refused(large_);
  EXPECT_THAT(quota_.facts().refused, ElementsAre(large_));
  pass(seconds(59));
  EXPECT_THAT(quota_.facts().refused, ElementsAre(large_));
  changes_ = 0;
  pass(seconds(1));
  EXPECT_THAT(quota_.facts().refused, IsEmpty());
  EXPECT_EQ(changes_, 1);

  quota_.refused(large_);
  quota_.capacity_freed();
  pass(seconds(4));
  EXPECT_THAT(quota_.facts().refused, ElementsAre(large_))
      << "that may have been what was left of the refused one";
  changes_ = 0;
  pass(seconds(1));
  EXPECT_THAT(quota_.facts().refused, IsEmpty());
  EXPECT_EQ(changes_, 1);
}

TEST_F(ProviderQuotaTest, a_machine_deleted_long_after_a_rejection_ends_it_at_once) {
  quota_.refused(large_);
  quota_.refused(small_);
  pass(seconds(30));
  changes_ = 0;
  quota_.capacity_freed();
  settle();
  EXPECT_THAT(quota_.facts().refused, IsEmpty());
  EXPECT_EQ(changes_, 1);
}

TEST_F(ProviderQuotaTest, a_limit_that_grows_ends_a_rejection_and_one_that_shrinks_does_not) {
  quota_.refused(large_);
  cloud_->limits = {{"instances", 4}};
  settle();
  EXPECT_EQ(quota_.available(), cloud_->limits);
  pass(seconds(30));
  EXPECT_THAT(quota_.facts().refused, ElementsAre(large_));
  quota_.refused(large_);
  cloud_->limits = {{"instances", 9}};
  settle();
  EXPECT_THAT(quota_.facts().refused, ElementsAre(large_))
      << "that may have been what was left of the refused one";
  pass(seconds(5));
  EXPECT_THAT(quota_.facts().refused, IsEmpty());
}

TEST_F(ProviderQuotaTest, limits_that_were_asked_for_before_a_rejection_are_read_again) {
  cloud_->limits_time = seconds(10);
  pass(minutes(6));
  quota_.available();
  pass(seconds(5));
  quota_.refused(large_);
  pass(seconds(5));
  EXPECT_TRUE(quota_.facts().is_stale);
  pass(seconds(10));
  EXPECT_FALSE(quota_.facts().is_stale);
  EXPECT_EQ(cloud_->questions, 3);
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
  for (int i = 0; i < 3; ++i) take_slot(quota_);
  EXPECT_THAT(slots_, SizeIs(2));
  slots_.pop_back();
  settle();
  EXPECT_THAT(slots_, SizeIs(2)) << "the third has it";
}

TEST_F(ProviderQuotaTest, a_provider_that_replaces_another_one_continues_with_its_launches) {
  for (int i = 0; i < 3; ++i) take_slot(quota_);
  quota_.launches()->begin("a", 2);
  ProviderQuota successor(runtime_, make_provider(/*max_concurrency=*/3), log_, launches_);
  settle();
  EXPECT_THAT(slots_, SizeIs(3)) << "max-concurrency is higher";
  take_slot(successor);
  EXPECT_THAT(slots_, SizeIs(3));
  EXPECT_EQ(successor.facts().launches_under_way, 2);
  int changes = 0;
  const coordination::Subscription subscription = successor.observe([&changes] { ++changes; });
  quota_.launches()->end_all("a");
  EXPECT_EQ(changes, 1);
  quota_.refused(large_);
  EXPECT_THAT(successor.facts().refused, ElementsAre(large_));
}

}  // namespace
}  // namespace nodepool::launcher
