#include "async/finally.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <stdexcept>
#include <string>
#include <vector>

#include "async/backoff.h"
#include "async/event_loop.h"
#include "async/pace.h"
#include "async/task_scope.h"

namespace nodepool::async {
namespace {

using std::chrono::seconds;
using testing::ElementsAre;

class FinallyTest : public testing::Test {
 protected:
  std::function<Task<>()> note(std::string what) {
    return [this, what = std::move(what)] { return write(what); };
  }
  Task<> write(std::string what) {
    notes_.push_back(std::move(what));
    co_return;
  }
  static Task<int> answer() { co_return 42; }
  static Task<int> failure() {
    throw std::runtime_error("no");
    co_return 0;
  }
  Task<> sleep() { co_await clock_.sleep_for(seconds(10)); }

  EventLoop loop_;
  VirtualClock clock_;
  Random random_{1};
  Runtime runtime_{loop_.executor(), clock_, random_};
  std::vector<std::string> notes_;
};

TEST_F(FinallyTest, what_comes_last_comes_after_a_result) {
  EXPECT_EQ(loop_.run(finally(answer(), note("after"))), 42);
  loop_.run(finally(write("work"), note("after")));
  EXPECT_THAT(notes_, ElementsAre("after", "work", "after"));
}

TEST_F(FinallyTest, what_comes_last_comes_after_a_failure_which_goes_on) {
  EXPECT_THROW(loop_.run(finally(failure(), note("after"))), std::runtime_error);
  EXPECT_THAT(notes_, ElementsAre("after"));
}

TEST_F(FinallyTest, what_comes_last_comes_after_a_cancellation) {
  TaskScope scope(runtime_, [this](const std::string&, const std::string& error) {
    notes_.push_back("escaped: " + error);
  });
  scope.spawn("sleep", finally(sleep(), note("after")));
  while (loop_.poll()) {
  }
  EXPECT_THAT(notes_, ElementsAre());
  loop_.run(scope.stop());
  EXPECT_THAT(notes_, ElementsAre("after"));
}

TEST_F(FinallyTest, only_a_failure_is_undone) {
  EXPECT_EQ(loop_.run(undo_on_failure(answer(), note("undo"))), 42);
  EXPECT_THAT(notes_, ElementsAre());
  EXPECT_THROW(loop_.run(undo_on_failure(failure(), note("undo"))), std::runtime_error);
  EXPECT_THAT(notes_, ElementsAre("undo"));
}

TEST(BackoffTest, pauses_double_up_to_the_longest_and_begin_again) {
  Backoff backoff(seconds(5), seconds(15));
  EXPECT_EQ(backoff.pause(), seconds(0));
  EXPECT_EQ(backoff.failed(), seconds(5));
  EXPECT_EQ(backoff.failed(), seconds(10));
  EXPECT_EQ(backoff.failed(), seconds(15));
  EXPECT_EQ(backoff.failed(), seconds(15));
  EXPECT_EQ(backoff.pause(), seconds(15));
  backoff.reset();
  EXPECT_EQ(backoff.failed(), seconds(5));
}

TEST(PaceTest, a_burst_is_followed_by_one_per_interval_until_there_was_rest) {
  Pace pace(seconds(6), 3);
  const Clock::TimePoint start{seconds(100)};
  for (int i = 0; i < 3; ++i) {
    EXPECT_LE(pace.next(), start);
    pace.done(start);
  }
  EXPECT_EQ(pace.next(), start + seconds(6));
  pace.done(pace.next());
  EXPECT_EQ(pace.next(), start + seconds(12));
  const Clock::TimePoint later = start + seconds(24);
  for (int i = 0; i < 3; ++i) {
    EXPECT_LE(pace.next(), later) << i;
    pace.done(later);
  }
  EXPECT_EQ(pace.next(), later + seconds(6));
}

}  // namespace
}  // namespace nodepool::async
