// Tests that repeated events are logged once a minute.

#include "web/rate_limited_log.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <vector>

#include "async/event_loop.h"

namespace nodepool::web {
namespace {

using std::chrono::seconds;
using testing::ElementsAre;
using testing::IsEmpty;

class RateLimitedLogTest : public testing::Test {
 protected:
  ~RateLimitedLogTest() override { loop_.run(sparse_.stop()); }

  void pass(seconds time) {
    clock_.advance_by(time);
    while (loop_.poll()) {
    }
  }

  void warn(const std::string& kind, int times) {
    for (int i = 1; i <= times; ++i) sparse_.warn(kind, "by " + std::to_string(i));
    while (loop_.poll()) {
    }
  }

  std::vector<std::string> said() { return std::exchange(lines_, {}); }

  async::EventLoop loop_;
  async::VirtualClock clock_;
  async::Random random_{3};
  async::Runtime runtime_{loop_.executor(), clock_, random_};
  std::vector<std::string> lines_;
  telemetry::Logger log_{
      telemetry::Log::to_consumer([this](telemetry::LogLevel, std::string_view,
                                         std::string_view text) { lines_.emplace_back(text); },
                                  telemetry::LogLevel::warning),
      "test"};
  RateLimitedLog sparse_{runtime_, log_};
};

TEST_F(RateLimitedLogTest, the_first_is_said_at_once_and_the_others_each_minute) {
  warn("refused", 3);
  EXPECT_THAT(said(), ElementsAre("refused: by 1"));
  pass(seconds(59));
  EXPECT_THAT(said(), IsEmpty());
  pass(seconds(1));
  EXPECT_THAT(said(), ElementsAre("refused: 2 times more within a minute; the last: by 3"));
  warn("refused", 1);
  EXPECT_THAT(said(), IsEmpty());
  pass(seconds(60));
  EXPECT_THAT(said(), ElementsAre("refused: 1 times more within a minute; the last: by 1"));
  pass(seconds(60));
  EXPECT_THAT(said(), IsEmpty());
  warn("refused", 1);
  EXPECT_THAT(said(), ElementsAre("refused: by 1"));
}

TEST_F(RateLimitedLogTest, kinds_beyond_the_limit_are_counted_as_one) {
  for (int i = 0; i < 1000; ++i) warn("from " + std::to_string(i), 1);
  const std::vector<std::string> lines = said();
  ASSERT_EQ(lines.size(), 101U);
  EXPECT_EQ(lines.back(), "Further warnings: from 100: by 1");
  pass(seconds(60));
  EXPECT_THAT(said(), ElementsAre("Further warnings: 899 times more within a minute; the last: "
                                  "from 999: by 1"));
}

TEST_F(RateLimitedLogTest, each_kind_is_counted_by_itself_and_the_end_says_the_rest) {
  warn("refused", 2);
  warn("lost", 1);
  EXPECT_THAT(said(), ElementsAre("refused: by 1", "lost: by 1"));
  loop_.run(sparse_.stop());
  EXPECT_THAT(said(), ElementsAre("refused: 1 times more within a minute; the last: by 2"));
}

}  // namespace
}  // namespace nodepool::web
