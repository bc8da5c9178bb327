#include "builder/sending_progress.h"

#include <gtest/gtest.h>

#include <chrono>

namespace nodepool::builder {
namespace {

using std::chrono::seconds;

TEST(SendingProgress, is_a_percentage_of_the_size) {
  async::VirtualClock clock;
  SendingProgress progress(clock, 1000);
  EXPECT_EQ(progress.percent(), 0);
  progress.sent(409);
  EXPECT_EQ(progress.percent(), 40);
  progress.sent(1000);
  EXPECT_EQ(progress.percent(), 100);
  progress.sent(2000);
  EXPECT_EQ(progress.percent(), 100);
  progress.sent(0);
  EXPECT_EQ(progress.percent(), 0) << "the cloud wants it all again";
  SendingProgress empty(clock, 0);
  empty.sent(0);
  EXPECT_EQ(empty.percent(), 100);
}

TEST(SendingProgress, has_a_line_each_half_minute) {
  async::VirtualClock clock;
  SendingProgress progress(clock, 1000);
  EXPECT_FALSE(progress.take_line());
  clock.advance_by(seconds(29));
  EXPECT_FALSE(progress.take_line());
  clock.advance_by(seconds(1));
  EXPECT_TRUE(progress.take_line());
  EXPECT_FALSE(progress.take_line());
  clock.advance_by(seconds(100));
  EXPECT_TRUE(progress.take_line());
  EXPECT_FALSE(progress.take_line());
}

}  // namespace
}  // namespace nodepool::builder
