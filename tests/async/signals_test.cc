#include "async/signals.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <csignal>
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

}  // namespace
}  // namespace nodepool::async
