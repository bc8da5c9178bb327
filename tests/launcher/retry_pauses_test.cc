#include "launcher/retry_pauses.h"

#include <gtest/gtest.h>

namespace nodepool::launcher {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

TEST(RetryPauses, are_short_at_first_and_a_second_from_the_tenth_on) {
  RetryPauses pauses;
  const async::Clock::TimePoint now{seconds(1000)};
  EXPECT_EQ(pauses.after_outdated("1", now), seconds(0));
  for (int i = 2; i < 10; ++i) EXPECT_EQ(pauses.after_outdated("1", now), milliseconds(10));
  EXPECT_EQ(pauses.after_outdated("1", now), seconds(1));
  EXPECT_EQ(pauses.after_outdated("1", now + seconds(1)), seconds(1));
  EXPECT_EQ(pauses.after_outdated("2", now), seconds(0));
  EXPECT_EQ(pauses.after_outdated("1", now + seconds(60)), milliseconds(10));
  pauses.forget("1");
  EXPECT_EQ(pauses.after_outdated("1", now + seconds(60)), seconds(0));
}

}  // namespace
}  // namespace nodepool::launcher
