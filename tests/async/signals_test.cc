#include "async/signals.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <csignal>
#include <stdexcept>
#include <string>
#include <vector>

#include "async/event_loop.h"
#include "async/task_scope.h"

namespace nodepool::async {
namespace {

using testing::ElementsAre;

Task<> collect(Signals& signals, std::vector<int>& received, std::size_t count) {
  while (received.size() < count) received.push_back(co_await signals.next());
}

TEST(SignalsTest, arrive_on_the_loop_one_by_one) {
  EventLoop loop;
  Signals signals(loop.executor(), {SIGUSR1, SIGUSR2});
  std::vector<int> received;
  std::raise(SIGUSR1);
  std::raise(SIGUSR2);
  loop.run(collect(signals, received, 2));
  EXPECT_THAT(received, testing::UnorderedElementsAre(SIGUSR1, SIGUSR2));
  std::raise(SIGUSR2);
  loop.run(collect(signals, received, 3));
  EXPECT_EQ(received.back(), SIGUSR2);
}

TEST(SignalsTest, a_cancelled_wait_ends_and_the_next_one_works) {
  EventLoop loop;
  SystemClock clock;
  Random random(1);
  const Runtime runtime{loop.executor(), clock, random};
  Signals signals(loop.executor(), {SIGUSR1});
  std::vector<int> received;
  TaskScope scope(runtime, [](const std::string&, const std::string& error) { FAIL() << error; });
  scope.spawn("collect", collect(signals, received, 1));
  while (loop.poll()) {
  }
  loop.run(scope.stop());
  EXPECT_TRUE(received.empty());
  std::raise(SIGUSR1);
  loop.run(collect(signals, received, 1));
  EXPECT_THAT(received, ElementsAre(SIGUSR1));
}

Task<> sleep(Clock& clock, std::string& end) {
  try {
    co_await clock.sleep_for(std::chrono::hours(1));
    end = "slept";
  } catch (const Cancelled&) {
    end = "cancelled";
    throw;
  }
}

TEST(SignalsTest, interrupt_work) {
  EventLoop loop;
  VirtualClock clock;
  Signals signals(loop.executor(), {SIGUSR1});
  std::string end;
  std::raise(SIGUSR1);
  EXPECT_EQ(loop.run(signals.until_next(sleep(clock, end))), SIGUSR1);
  EXPECT_EQ(end, "cancelled");
}

TEST(SignalsTest, are_not_needed_for_work_to_end) {
  EventLoop loop;
  VirtualClock clock;
  Signals signals(loop.executor(), {SIGUSR1});
  auto nothing = []() -> Task<> { co_return; };
  EXPECT_EQ(loop.run(signals.until_next(nothing())), std::nullopt);
  auto failing = []() -> Task<> {
    throw std::runtime_error("wrong");
    co_return;
  };
  EXPECT_THROW(loop.run(signals.until_next(failing())), std::runtime_error);
}

TEST(SignalsTest, that_are_ignored_can_be_left_out_but_not_the_one_to_terminate) {
  for (const int number : {SIGUSR1, SIGTERM}) std::signal(number, SIG_IGN);
  EXPECT_THAT(unless_ignored({SIGUSR1, SIGUSR2, SIGTERM}), ElementsAre(SIGUSR2, SIGTERM));
  for (const int number : {SIGUSR1, SIGTERM}) std::signal(number, SIG_DFL);
}

}  // namespace
}  // namespace nodepool::async
