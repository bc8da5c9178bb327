#include "async/live_tasks.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <future>
#include <string>
#include <vector>

#include <boost/asio/this_coro.hpp>

#include "async/deadline.h"
#include "async/event.h"
#include "async/event_loop.h"
#include "async/task_scope.h"
#include "async/thread_pool.h"

namespace nodepool::async {
namespace {

using std::chrono::seconds;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::StartsWith;

class LiveTasksTest : public testing::Test {
 protected:
  TaskScope::ErrorHandler reporter() {
    return [this](const std::string& name, const std::string& error) {
      errors_.push_back(name + ": " + error);
    };
  }
  void poll() {
    while (loop_.poll()) {
    }
  }
  void advance(Duration duration) {
    clock_.advance_by(duration);
    poll();
  }

  static std::int64_t whole_seconds(Duration duration) {
    return std::chrono::duration_cast<seconds>(duration).count();
  }

  // "NAME AGE: WHAT SINCE [LEFT left], …", times in whole seconds.
  std::vector<std::string> lines() {
    std::vector<std::string> lines;
    for (const LiveTask& task : live_tasks(runtime_.executor)) {
      std::string line = task.name + " " + std::to_string(whole_seconds(task.age)) + ":";
      for (const LiveTask::Wait& wait : task.waits) {
        line += " " + wait.what + " " + std::to_string(whole_seconds(wait.since));
        if (wait.left) line += " [" + std::to_string(whole_seconds(*wait.left)) + " left]";
        line += ",";
      }
      lines.push_back(line);
    }
    return lines;
  }

  EventLoop loop_;
  VirtualClock clock_;
  Random random_{1};
  Runtime runtime_{loop_.executor(), clock_, random_};
  std::vector<std::string> errors_;
};

Task<> sleep(Clock& clock, seconds time) {
  co_await clock.sleep_for(time);
}

Task<> await_event(Event& event) {
  co_await event.wait();
}

TEST_F(LiveTasksTest, list_what_each_task_waits_for_and_since_when) {
  TaskScope scope(runtime_, reporter());
  Event event("a node changed");
  scope.spawn("sleeper", sleep(clock_, seconds(60)));
  poll();
  advance(seconds(2));
  scope.spawn("waiter", await_event(event));
  poll();
  advance(seconds(3));
  EXPECT_THAT(lines(),
              ElementsAre("sleeper 5: sleep 5 [55 left],", "waiter 3: event: a node changed 3,"));
  event.set();
  poll();
  EXPECT_THAT(lines(), ElementsAre("sleeper 5: sleep 5 [55 left],"));
  loop_.run(scope.stop());
  EXPECT_THAT(lines(), IsEmpty());
}

TEST_F(LiveTasksTest, a_later_wait_replaces_the_one_before) {
  TaskScope scope(runtime_, reporter());
  auto worker = [](Event& first, Event& second) -> Task<> {
    co_await first.wait();
    co_await second.wait();
  };
  Event first("first");
  Event second("second");
  scope.spawn("worker", worker(first, second));
  poll();
  advance(seconds(1));
  first.set();
  poll();
  EXPECT_THAT(lines(), ElementsAre("worker 1: event: second 0,"));
  loop_.run(scope.stop());
}

TEST_F(LiveTasksTest, what_a_wait_is_part_of_comes_before_it) {
  TaskScope scope(runtime_, reporter());
  auto worker = [](Event& event, Clock& clock) -> Task<> {
    const WaitsFor waits(co_await boost::asio::this_coro::executor, "lock", "/some/lock");
    co_await event.wait_until(clock, clock.now() + seconds(10));
  };
  Event event("the line changed");
  scope.spawn("worker", worker(event, clock_));
  poll();
  advance(seconds(4));
  EXPECT_THAT(lines(), ElementsAre("worker 4: lock /some/lock 4, deadline: the line changed 4 [6 "
                                   "left], event: the line changed 4,"));
  advance(seconds(6));
  EXPECT_THAT(lines(), IsEmpty());
}

TEST_F(LiveTasksTest, the_tasks_of_an_inner_scope_are_listed_beside_their_owner) {
  TaskScope scope(runtime_, reporter());
  auto owner = [](Runtime runtime, TaskScope::ErrorHandler on_error) -> Task<> {
    TaskScope inner(runtime, std::move(on_error));
    inner.spawn("inner", sleep(runtime.clock, seconds(30)));
    co_await inner.join();
  };
  scope.spawn("owner", owner(runtime_, reporter()));
  poll();
  EXPECT_THAT(lines(), ElementsAre("owner 0: end of own tasks 0,", "inner 0: sleep 0 [30 left],"));
  advance(seconds(30));
  EXPECT_THAT(lines(), IsEmpty());
}

TEST_F(LiveTasksTest, a_call_on_a_thread_has_a_name) {
  TaskScope scope(runtime_, reporter());
  ThreadPool pool(1, "worker");
  std::promise<void> release;
  auto caller = [](ThreadPool& pool, std::shared_future<void> released) -> Task<> {
    auto call = [released] { released.wait(); };
    co_await pool.run("name look-up", std::move(call));
  };
  scope.spawn("caller", caller(pool, release.get_future().share()));
  poll();
  EXPECT_THAT(lines(), ElementsAre("caller 0: thread: name look-up 0,"));
  release.set_value();
  loop_.run(scope.join());
  EXPECT_THAT(lines(), IsEmpty());
}

TEST_F(LiveTasksTest,
       a_task_that_fails_is_gone_and_one_that_is_only_awaited_is_no_task_of_its_own) {
  TaskScope scope(runtime_, reporter());
  auto failing = [](Clock& clock) -> Task<> {
    co_await sleep(clock, seconds(1));
    throw std::runtime_error("broken");
  };
  scope.spawn("failing", failing(clock_));
  poll();
  EXPECT_THAT(lines(), ElementsAre(StartsWith("failing 0: sleep 0")));
  advance(seconds(1));
  EXPECT_THAT(lines(), IsEmpty());
  EXPECT_THAT(errors_, ElementsAre("failing: broken"));
}

TEST_F(LiveTasksTest, each_event_loop_has_its_own) {
  EventLoop other;
  TaskScope scope(runtime_, reporter());
  scope.spawn("here", sleep(clock_, seconds(1)));
  poll();
  EXPECT_THAT(live_tasks(other.executor()), IsEmpty());
  EXPECT_EQ(live_tasks(runtime_.executor).size(), 1U);
  loop_.run(scope.stop());
}

}  // namespace
}  // namespace nodepool::async
