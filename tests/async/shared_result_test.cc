#include "async/shared_result.h"

#include <gtest/gtest.h>

#include <vector>

#include "async/event_loop.h"
#include "async/task_scope.h"
#include "tests/support/virtual_time.h"

namespace nodepool::async {
namespace {

using std::chrono::seconds;

TEST(SharedResult, concurrent_callers_share_one_computation) {
  EventLoop loop;
  VirtualClock clock;
  Random random(1);
  const Runtime runtime{loop.executor(), clock, random};
  int under_way = 0;
  int asked = 0;
  const SharedResult<Clock::TimePoint>::Ask ask = [&]() -> Task<Clock::TimePoint> {
    const auto asked_at = clock.now();
    ++asked;
    EXPECT_EQ(++under_way, 1);
    co_await clock.sleep_for(seconds(5));
    --under_way;
    co_return asked_at;
  };
  SharedResult<Clock::TimePoint> answer(runtime, "a test's question", ask);
  TaskScope scope(runtime, [](const std::string& name, const std::string& error) {
    ADD_FAILURE() << name << ": " << error;
  });
  int answered = 0;
  const auto look = [](SharedResult<Clock::TimePoint>& from, Clock& now, int& count) -> Task<> {
    const auto called_at = now.now();
    const auto got = co_await from.get(seconds(1));
    EXPECT_GE(*got, called_at - seconds(1)) << "older than was asked for";
    ++count;
  };
  constexpr int kCallers = 20;
  for (int i = 0; i < kCallers; ++i) {
    scope.spawn("caller", look(answer, clock, answered));
    while (loop.poll()) {
    }
    clock.advance_to(clock.now() + seconds(1));
    while (loop.poll()) {
    }
  }
  for (int i = 0; i < 20; ++i) {
    clock.advance_to(clock.now() + seconds(1));
    while (loop.poll()) {
    }
  }
  EXPECT_EQ(answered, kCallers);
  EXPECT_LE(asked, 6);
}

TEST(SharedResult, its_age_counts_from_when_the_request_was_sent) {
  EventLoop loop;
  VirtualClock clock;
  Random random(1);
  const Runtime runtime{loop.executor(), clock, random};
  int asked = 0;
  SharedResult<int>* asking = nullptr;
  const SharedResult<int>::Ask ask = [&]() -> Task<int> {
    ++asked;
    co_await clock.sleep_for(seconds(20));  // the turn of the request
    asking->mark_sent();
    co_return asked;
  };
  SharedResult<int> answer(runtime, "a test's question", ask);
  asking = &answer;
  TaskScope scope(runtime, [](const std::string& name, const std::string& error) {
    ADD_FAILURE() << name << ": " << error;
  });
  int answered = 0;
  const auto look = [](SharedResult<int>& from, Duration age, int& count) -> Task<> {
    co_await from.get(age);
    ++count;
  };
  const auto pass = [&](Duration time) {
    test_support::pass(clock, time, [&loop] {
      while (loop.poll()) {
      }
    });
  };
  scope.spawn("first", look(answer, {}, answered));
  pass(seconds(10));
  scope.spawn("while the request waits", look(answer, {}, answered));
  pass(seconds(11));
  EXPECT_EQ(answered, 2);
  scope.spawn("soon after", look(answer, seconds(2), answered));
  pass({});
  EXPECT_EQ(answered, 3);
  EXPECT_EQ(asked, 1);
}

}  // namespace
}  // namespace nodepool::async
