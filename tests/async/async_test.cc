#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <future>
#include <string>
#include <thread>
#include <vector>

#include "async/deadline.h"
#include "async/event.h"
#include "async/event_loop.h"
#include "async/task_scope.h"
#include "async/thread_pool.h"

namespace nodepool::async {
namespace {

using std::chrono::hours;
using std::chrono::milliseconds;
using std::chrono::seconds;
using testing::ElementsAre;

class AsyncTest : public testing::Test {
 protected:
  void report(const std::string& name, const std::string& error) {
    errors_.push_back(name + ": " + error);
  }
  TaskScope::ErrorHandler reporter() {
    return [this](const std::string& name, const std::string& error) { report(name, error); };
  }
  void poll() {
    while (loop_.poll()) {
    }
  }
  void advance(Duration duration) {
    clock_.advance_by(duration);
    poll();
  }

  EventLoop loop_;
  VirtualClock clock_;
  Random random_{1};
  Runtime runtime_{loop_.executor(), clock_, random_};
  std::vector<std::string> log_;
  std::vector<std::string> errors_;
};

TEST_F(AsyncTest, sleepers_wake_in_the_order_of_their_times) {
  TaskScope scope(runtime_, reporter());
  auto sleeper = [](Clock& clock, seconds time, std::vector<std::string>& log) -> Task<> {
    co_await clock.sleep_for(time);
    log.push_back(std::to_string(time.count()));
  };
  scope.spawn("late", sleeper(clock_, seconds(30), log_));
  scope.spawn("early", sleeper(clock_, seconds(10), log_));
  scope.spawn("middle", sleeper(clock_, seconds(20), log_));
  poll();
  EXPECT_EQ(clock_.next_wakeup(), clock_.now() + seconds(10));
  advance(seconds(15));
  EXPECT_THAT(log_, ElementsAre("10"));
  advance(hours(1));
  EXPECT_THAT(log_, ElementsAre("10", "20", "30"));
  EXPECT_TRUE(scope.empty());
  EXPECT_EQ(clock_.next_wakeup(), Clock::TimePoint::max());
}

TEST_F(AsyncTest, wall_time_follows_and_jumps_without_moving_deadlines) {
  const double before = clock_.wall_seconds();
  clock_.advance_by(seconds(5));
  EXPECT_DOUBLE_EQ(clock_.wall_seconds(), before + 5);
  const auto now = clock_.now();
  clock_.shift_wall_clock(-3600);
  EXPECT_DOUBLE_EQ(clock_.wall_seconds(), before + 5 - 3600);
  EXPECT_EQ(clock_.now(), now);
}

TEST_F(AsyncTest, cancelled_tasks_leave_their_waits_and_can_still_clean_up) {
  TaskScope scope(runtime_, reporter());
  auto worker = [](Clock& clock, std::vector<std::string>& log, ThreadPool& pool) -> Task<> {
    bool cancelled = false;
    try {
      co_await clock.sleep_for(hours(1));
    } catch (const Cancelled&) {
      cancelled = true;
    }
    const int answer = co_await pool.run("test", [] { return 42; });  // not a cancellation point
    log.push_back("cancelled=" + std::to_string(cancelled) + " answer=" + std::to_string(answer));
    co_await clock.sleep_for(seconds(1));  // is one
    log.push_back("never");
  };
  ThreadPool pool(1, "test");
  scope.spawn("worker", worker(clock_, log_, pool));
  poll();
  loop_.run(scope.stop());
  EXPECT_THAT(log_, ElementsAre("cancelled=1 answer=42"));
  EXPECT_TRUE(errors_.empty());
}

TEST_F(AsyncTest, a_cancelled_scope_starts_nothing) {
  TaskScope scope(runtime_, reporter());
  auto worker = [](std::vector<std::string>& log) -> Task<> {
    log.push_back("ran");
    co_return;
  };
  scope.spawn("before", worker(log_));
  scope.cancel();
  scope.spawn("after", worker(log_));
  loop_.run(scope.join());
  EXPECT_TRUE(log_.empty());
}

TEST_F(AsyncTest, errors_of_tasks_are_reported_with_their_names) {
  TaskScope scope(runtime_, reporter());
  auto worker = [](Clock& clock) -> Task<> {
    co_await clock.sleep_for(seconds(1));
    throw std::runtime_error("disk on fire");
  };
  scope.spawn("burner", worker(clock_));
  poll();
  advance(seconds(1));
  EXPECT_THAT(errors_, ElementsAre("burner: disk on fire"));
}

TEST_F(AsyncTest, join_waits_for_all_tasks_even_when_its_caller_is_cancelled) {
  TaskScope inner(runtime_, reporter());
  TaskScope outer(runtime_, reporter());
  auto worker = [](Clock& clock, std::vector<std::string>& log) -> Task<> {
    co_await clock.sleep_for(seconds(5));
    log.push_back("worker done");
  };
  auto owner = [](TaskScope& scope, std::vector<std::string>& log) -> Task<> {
    co_await scope.join();
    log.push_back("joined");
  };
  inner.spawn("worker", worker(clock_, log_));
  outer.spawn("owner", owner(inner, log_));
  poll();
  outer.cancel();
  poll();
  EXPECT_TRUE(log_.empty());
  advance(seconds(5));
  EXPECT_THAT(log_, ElementsAre("worker done", "joined"));
}

TEST_F(AsyncTest, join_or_stop_waits_for_all_tasks) {
  TaskScope inner(runtime_, reporter());
  TaskScope outer(runtime_, reporter());
  auto worker = [](Clock& clock, seconds time) -> Task<> { co_await clock.sleep_for(time); };
  auto owner = [](TaskScope& scope, std::vector<std::string>& log) -> Task<> {
    co_await scope.join_or_stop();
    log.push_back("joined");
  };
  inner.spawn("a", worker(clock_, seconds(5)));
  inner.spawn("b", worker(clock_, seconds(7)));
  outer.spawn("owner", owner(inner, log_));
  poll();
  advance(seconds(5));
  EXPECT_TRUE(log_.empty());
  advance(seconds(2));
  EXPECT_THAT(log_, ElementsAre("joined"));
}

TEST_F(AsyncTest, join_or_stop_stops_the_tasks_when_its_caller_is_cancelled) {
  TaskScope inner(runtime_, reporter());
  TaskScope outer(runtime_, reporter());
  auto worker = [](Clock& clock, std::vector<std::string>& log) -> Task<> {
    try {
      co_await clock.sleep_for(seconds(5));
    } catch (const Cancelled&) {
      log.push_back("worker cancelled");
    }
  };
  auto owner = [](TaskScope& scope, std::vector<std::string>& log) -> Task<> {
    try {
      co_await scope.join_or_stop();
    } catch (const Cancelled&) {
      log.push_back("owner cancelled");
    }
  };
  inner.spawn("worker", worker(clock_, log_));
  outer.spawn("owner", owner(inner, log_));
  poll();
  outer.cancel();
  poll();
  EXPECT_THAT(log_, ElementsAre("worker cancelled", "owner cancelled"));
  EXPECT_TRUE(inner.empty());
}

TEST_F(AsyncTest, an_event_remembers_one_set_and_wakes_all_waiters) {
  TaskScope scope(runtime_, reporter());
  Event event;
  event.set();
  event.set();
  auto waiter = [](Event& event, std::string name, std::vector<std::string>& log) -> Task<> {
    co_await event.wait();
    log.push_back(name);
  };
  scope.spawn("a", waiter(event, "a", log_));
  poll();
  EXPECT_THAT(log_, ElementsAre("a"));
  scope.spawn("b", waiter(event, "b", log_));
  scope.spawn("c", waiter(event, "c", log_));
  poll();
  EXPECT_THAT(log_, ElementsAre("a"));
  event.set();
  poll();
  EXPECT_THAT(log_, ElementsAre("a", "b", "c"));
}

TEST_F(AsyncTest, waiting_for_an_event_ends_at_its_time) {
  TaskScope scope(runtime_, reporter());
  Event event;
  auto waiter = [](Event& event, Clock& clock, std::vector<std::string>& log) -> Task<> {
    log.push_back(co_await event.wait_until(clock, clock.now() + seconds(1)) ? "set" : "late");
    log.push_back(co_await event.wait_until(clock, clock.now() + seconds(1)) ? "set" : "late");
  };
  scope.spawn("waiter", waiter(event, clock_, log_));
  poll();
  advance(seconds(1));
  EXPECT_THAT(log_, ElementsAre("late"));
  advance(milliseconds(500));
  event.set();
  poll();
  EXPECT_THAT(log_, ElementsAre("late", "set"));
}

Task<int> slow_answer(Clock& clock, seconds time) {
  co_await clock.sleep_for(time);
  co_return 7;
}

TEST_F(AsyncTest, a_deadline_cuts_short_what_takes_too_long) {
  TaskScope scope(runtime_, reporter());
  auto caller = [](Clock& clock, seconds time, std::vector<std::string>& log) -> Task<> {
    try {
      Task<int> answer = slow_answer(clock, time);
      const int value = co_await with_deadline(clock, clock.now() + seconds(10), std::move(answer),
                                               "slow answer");
      log.push_back(std::to_string(value));
    } catch (const DeadlineExceeded& error) {
      log.emplace_back(error.what());
    }
  };
  scope.spawn("quick", caller(clock_, seconds(9), log_));
  scope.spawn("slow", caller(clock_, seconds(11), log_));
  poll();
  advance(seconds(20));
  EXPECT_THAT(log_, ElementsAre("7", "timed out: slow answer"));
}

TEST_F(AsyncTest, a_deadline_passes_on_errors_and_cancellation) {
  TaskScope scope(runtime_, reporter());
  auto failing = [](Clock& clock) -> Task<> {
    co_await clock.sleep_for(seconds(1));
    throw std::logic_error("wrong");
  };
  auto caller = [](Clock& clock, Task<> task, std::vector<std::string>& log) -> Task<> {
    try {
      co_await with_deadline(clock, clock.now() + seconds(10), std::move(task), "x");
    } catch (const Cancelled&) {
      log.emplace_back("cancelled");
      throw;
    } catch (const std::logic_error& error) {
      log.emplace_back(error.what());
    }
  };
  scope.spawn("failing", caller(clock_, failing(clock_), log_));
  scope.spawn("endless", caller(clock_, clock_.sleep_for(hours(9)), log_));
  poll();
  advance(seconds(1));
  EXPECT_THAT(log_, ElementsAre("wrong"));
  loop_.run(scope.stop());
  EXPECT_THAT(log_, ElementsAre("wrong", "cancelled"));
  EXPECT_EQ(clock_.next_wakeup(), Clock::TimePoint::max());
}

TEST_F(AsyncTest, a_thread_pool_returns_values_and_errors_to_the_loop) {
  ThreadPool pool(2, "test");
  const auto loop_thread = std::this_thread::get_id();
  auto caller = [](ThreadPool& pool, std::thread::id loop_thread) -> Task<std::string> {
    const auto worker = co_await pool.run("test", [] { return std::this_thread::get_id(); });
    if (worker == loop_thread) co_return "ran on the loop";
    if (std::this_thread::get_id() != loop_thread) co_return "resumed elsewhere";
    std::string text;
    try {
      co_await pool.run("test", [] { throw std::runtime_error("no such host"); });
    } catch (const std::runtime_error& error) {
      text = error.what();
    }
    co_return text;
  };
  EXPECT_EQ(loop_.run(caller(pool, loop_thread)), "no such host");
}

TEST_F(AsyncTest, a_pool_without_threads_runs_calls_on_the_loop) {
  ThreadPool pool(0, "test");
  Task<std::thread::id> call = pool.run("test", [] { return std::this_thread::get_id(); });
  EXPECT_EQ(loop_.run(std::move(call)), std::this_thread::get_id());
  EXPECT_TRUE(pool.idle());
}

TEST_F(AsyncTest, a_pool_beside_another_one_has_threads_of_its_own) {
  ThreadPool pool(1, "test");
  ThreadPool beside = pool.beside(1, "beside");
  std::promise<void> released;
  beside.start(loop_.executor(), [&released] { released.get_future().wait(); }, [] {});
  Task<int> call = pool.run("test", [] { return 1; });
  EXPECT_EQ(loop_.run(std::move(call)), 1);
  EXPECT_FALSE(pool.idle()) << "the other call has not returned";
  released.set_value();
  while (!pool.idle()) loop_.poll();
  EXPECT_TRUE(beside.idle());
}

TEST_F(AsyncTest, a_pool_beside_one_without_threads_has_none) {
  const ThreadPool pool(0, "test");
  ThreadPool beside = pool.beside(1, "beside");
  Task<std::thread::id> call = beside.run("test", [] { return std::this_thread::get_id(); });
  EXPECT_EQ(loop_.run(std::move(call)), std::this_thread::get_id());
}

TEST_F(AsyncTest, tearing_down_a_loop_destroys_suspended_tasks_where_they_stand) {
  std::vector<std::string> log;
  struct Trace {
    std::vector<std::string>& log;
    ~Trace() { log.emplace_back("frame destroyed"); }
  };
  auto worker = [](Clock& clock, std::vector<std::string>& log) -> Task<> {
    const Trace trace{log};
    co_await clock.sleep_for(hours(1));
    log.emplace_back("never");
  };
  {
    EventLoop loop;
    const Runtime runtime{loop.executor(), clock_, random_};
    TaskScope scope(runtime, reporter());
    scope.spawn("worker", worker(clock_, log));
    loop.poll();
  }
  EXPECT_THAT(log, ElementsAre("frame destroyed"));
  EXPECT_EQ(clock_.next_wakeup(), Clock::TimePoint::max());
}

TEST(RandomTest, uuids_have_the_version_4_form_and_repeat_with_the_seed) {
  Random a(5);
  Random b(5);
  for (int i = 0; i < 50; ++i) {
    const std::string uuid = a.uuid_hex();
    ASSERT_EQ(uuid.size(), 32U);
    EXPECT_EQ(uuid.find_first_not_of("0123456789abcdef"), std::string::npos);
    EXPECT_EQ(uuid[12], '4');
    EXPECT_NE(std::string("89ab").find(uuid[16]), std::string::npos) << uuid;
    EXPECT_EQ(uuid, b.uuid_hex());
  }
}

}  // namespace
}  // namespace nodepool::async
