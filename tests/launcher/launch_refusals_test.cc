#include "launcher/launch_refusals.h"

#include <gmock/gmock.h>

namespace nodepool::launcher {
namespace {

using std::chrono::hours;
using std::chrono::seconds;
using testing::ElementsAre;
using testing::IsEmpty;

class LaunchRefusalsTest : public testing::Test {
 protected:
  LaunchRefusals::TimePoint at(std::chrono::seconds time) { return start_ + time; }

  const PoolLabel small_{"main", "small"};
  const PoolLabel large_{"main", "large"};
  const LaunchRefusals::TimePoint start_ = LaunchRefusals::TimePoint() + hours(1);
  LaunchRefusals refusals_;
};

TEST_F(LaunchRefusalsTest, only_the_refused_label_is_suspended_for_a_minute) {
  refusals_.refused(large_, at(seconds(0)));
  EXPECT_THAT(refusals_.suspended(at(seconds(59))), ElementsAre(large_));
  EXPECT_EQ(refusals_.next_end(at(seconds(59))), at(seconds(60)));
  EXPECT_THAT(refusals_.suspended(at(seconds(60))), IsEmpty());
  EXPECT_EQ(refusals_.next_end(at(seconds(60))), std::nullopt);
}

TEST_F(LaunchRefusalsTest, freed_capacity_ends_suspensions_but_not_at_once) {
  refusals_.refused(large_, at(seconds(0)));
  refusals_.refused(small_, at(seconds(10)));
  refusals_.capacity_freed(at(seconds(12)));
  EXPECT_THAT(refusals_.suspended(at(seconds(12))), ElementsAre(small_));
  EXPECT_EQ(refusals_.next_end(at(seconds(12))), at(seconds(15)));
}

TEST_F(LaunchRefusalsTest, after_a_suspension_one_launch_tries_and_the_others_follow) {
  refusals_.refused(large_, at(seconds(0)));
  refusals_.begin(large_, at(seconds(60)));
  EXPECT_THAT(refusals_.suspended(at(seconds(60))), ElementsAre(large_));
  refusals_.begin(large_, at(seconds(60)));  // of the same request
  EXPECT_THAT(refusals_.suspended(at(seconds(64))), ElementsAre(large_));
  EXPECT_THAT(refusals_.suspended(at(seconds(65))), IsEmpty());
  refusals_.begin(large_, at(seconds(65)));
  EXPECT_THAT(refusals_.suspended(at(seconds(65))), IsEmpty()) << "the cloud launches it again";
}

TEST_F(LaunchRefusalsTest, a_refused_trial_suspends_the_label_again) {
  refusals_.refused(large_, at(seconds(0)));
  refusals_.begin(large_, at(seconds(60)));
  refusals_.refused(large_, at(seconds(62)));
  EXPECT_THAT(refusals_.suspended(at(seconds(121))), ElementsAre(large_));
  refusals_.begin(large_, at(seconds(122)));
  EXPECT_THAT(refusals_.suspended(at(seconds(122))), ElementsAre(large_)) << "one tries again";
}

TEST_F(LaunchRefusalsTest, an_old_refusal_delays_nothing) {
  refusals_.refused(large_, at(seconds(0)));
  refusals_.begin(large_, at(hours(1)));
  EXPECT_THAT(refusals_.suspended(at(hours(1))), IsEmpty());
}

TEST_F(LaunchRefusalsTest, observers_are_notified_when_the_end_of_a_suspension_changes) {
  int changes = 0;
  const coordination::Subscription subscription = refusals_.observe([&changes] { ++changes; });
  refusals_.begin(large_, at(seconds(0)));
  refusals_.capacity_freed(at(seconds(0)));
  EXPECT_EQ(changes, 0);
  refusals_.refused(large_, at(seconds(0)));
  EXPECT_EQ(changes, 1);
  refusals_.capacity_freed(at(seconds(20)));
  EXPECT_EQ(changes, 2);
  refusals_.begin(large_, at(seconds(20)));
  EXPECT_EQ(changes, 3);
}

}  // namespace
}  // namespace nodepool::launcher
