// Decisions by ages while the clock is set.

#include "builder/settled_time.h"

#include <gmock/gmock.h>

#include <chrono>

#include "async/clock.h"
#include "tests/builder/builder_fixture.h"

namespace nodepool::builder {
namespace {

using std::chrono::minutes;
using std::chrono::seconds;
using testing::SizeIs;

class SettledTimeTest : public testing::Test {
 protected:
  async::VirtualClock clock_{1000};
  SettledTime settled_{clock_};
};

TEST_F(SettledTimeTest, a_clock_that_is_set_counts_when_it_has_held) {
  clock_.advance_by(seconds(10));
  EXPECT_DOUBLE_EQ(settled_.now(), 1010);
  EXPECT_FALSE(settled_.settles_at());
  clock_.shift_wall_clock(-500);
  EXPECT_DOUBLE_EQ(settled_.now(), 1010);
  EXPECT_EQ(settled_.settles_at(), clock_.now() + seconds(60));
  clock_.advance_by(seconds(59));
  EXPECT_DOUBLE_EQ(settled_.now(), 1069);
  clock_.advance_by(seconds(1));
  EXPECT_DOUBLE_EQ(settled_.now(), 570);
  EXPECT_FALSE(settled_.settles_at());
}

TEST_F(SettledTimeTest, a_clock_that_is_set_again_has_to_hold_from_then) {
  clock_.shift_wall_clock(500);
  EXPECT_DOUBLE_EQ(settled_.now(), 1000);
  clock_.advance_by(seconds(59));
  clock_.shift_wall_clock(500);
  EXPECT_DOUBLE_EQ(settled_.now(), 1059);
  EXPECT_EQ(settled_.settles_at(), clock_.now() + seconds(60));
  clock_.shift_wall_clock(-1000);
  EXPECT_DOUBLE_EQ(settled_.now(), 1059);
  EXPECT_FALSE(settled_.settles_at()) << "it is right again";
}

TEST_F(SettledTimeTest, small_corrections_are_followed_at_once) {
  clock_.shift_wall_clock(4);
  EXPECT_DOUBLE_EQ(settled_.now(), 1004);
  clock_.shift_wall_clock(4);
  EXPECT_DOUBLE_EQ(settled_.now(), 1008);
}

class SettledBuilderTest : public BuilderFixture {};

TEST_F(SettledBuilderTest, a_clock_that_is_ahead_for_a_moment_makes_no_image_too_old) {
  start_with_one();
  pass(minutes(1));
  clock_.shift_wall_clock(86400);
  reconfigure(yaml(kDeb, kSky));
  pass(seconds(50));
  EXPECT_THAT(workshop_->built, SizeIs(1));
  clock_.shift_wall_clock(-86400);
  reconfigure(yaml(kDeb, kSky));
  pass(minutes(50));
  EXPECT_THAT(workshop_->built, SizeIs(1));
  pass(minutes(10));
  EXPECT_THAT(workshop_->built, SizeIs(2));
}

TEST_F(SettledBuilderTest, a_clock_that_is_set_counts_after_a_minute) {
  start_with_one();
  pass(minutes(1));
  clock_.shift_wall_clock(86400);
  reconfigure(yaml(kDeb, kSky));
  pass(minutes(2));
  EXPECT_THAT(workshop_->built, SizeIs(2));
}

}  // namespace
}  // namespace nodepool::builder
