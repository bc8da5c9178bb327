#include "telemetry/stack_dump.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <pthread.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <condition_variable>
#include <future>
#include <latch>
#include <mutex>
#include <thread>

#include "async/event.h"
#include "async/event_loop.h"
#include "async/task_scope.h"
#include "telemetry/thread_stacks.h"
#include "tests/support/no_descriptors.h"
#include "tests/support/patience.h"

namespace nodepool::telemetry {
namespace {

using std::chrono::seconds;
using testing::ContainsRegex;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

TEST(ThreadStacksTest, show_the_other_threads_with_their_names) {
  std::latch named(1);
  std::promise<void> release;
  std::jthread other([&named, released = release.get_future()]() mutable {
    ::pthread_setname_np(::pthread_self(), "name look-up");
    named.count_down();
    released.wait();
  });
  named.wait();

  ThreadStacks stacks;
  const std::vector<ThreadStacks::Stack> taken = stacks.take();
  release.set_value();

  ASSERT_EQ(taken.size(), 1U);
  EXPECT_EQ(taken.front().name, "name look-up");
  EXPECT_THAT(taken.front().frames, Not(IsEmpty()));
  EXPECT_THAT(testing::PrintToString(taken.front().frames), HasSubstr("libc.so.6"));
}

TEST(ThreadStacksTest, can_be_taken_again_and_again) {
  std::promise<void> release;
  const std::jthread other([released = release.get_future()]() mutable { released.wait(); });
  ThreadStacks stacks;
  for (int i = 0; i < 100; ++i) {
    const std::vector<ThreadStacks::Stack> taken = stacks.take();
    EXPECT_EQ(taken.size(), 1U);
    if (taken.size() == 1) EXPECT_THAT(taken.front().frames, Not(IsEmpty()));
  }
  release.set_value();
}

TEST(ThreadStacksTest, a_thread_that_does_not_answer_is_listed_without_a_stack) {
  std::latch blocked(1);
  std::promise<void> release;
  std::jthread other([&blocked, released = release.get_future()]() mutable {
    sigset_t all;
    sigfillset(&all);
    ::pthread_sigmask(SIG_SETMASK, &all, nullptr);
    ::pthread_setname_np(::pthread_self(), "deaf");
    blocked.count_down();
    released.wait();
    ::pthread_sigmask(SIG_UNBLOCK, &all, nullptr);  // the late response
  });
  blocked.wait();
  ThreadStacks stacks;
  const std::vector<ThreadStacks::Stack> taken = stacks.take();
  release.set_value();
  other.join();
  const auto deaf = std::ranges::find(taken, "deaf", &ThreadStacks::Stack::name);
  ASSERT_NE(deaf, taken.end());
  EXPECT_THAT(deaf->frames, IsEmpty());
}

// Records log messages, from any thread.
class LogLines {
 public:
  std::shared_ptr<Log> sink(LogLevel level = LogLevel::debug) {
    const auto add = [this](LogLevel, std::string_view logger, std::string_view message) {
      const std::lock_guard lock(mutex_);
      text_.append(logger).append(": ").append(message).append("\n");
      changed_.notify_all();
    };
    return Log::to_consumer(add, level);
  }
  std::string wait_for(const std::string& part) {
    std::unique_lock lock(mutex_);
    const bool came = changed_.wait_for(lock, test_support::kPatience, [this, &part] {
      return text_.find(part) != std::string::npos;
    });
    EXPECT_TRUE(came) << "no " << part << " in: " << text_;
    return text_;
  }
  // … twice.
  void wait_for_two(const std::string& part) {
    std::unique_lock lock(mutex_);
    const bool came = changed_.wait_for(lock, test_support::kPatience, [this, &part] {
      return text_.find(part) != text_.rfind(part);
    });
    EXPECT_TRUE(came) << "no second " << part << " in: " << text_;
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::string text_;
};

async::Task<> await_event(async::Event& event) {
  co_await event.wait();
}

TEST(StackDumpTest, threads_come_though_the_loop_hangs_and_tasks_when_it_runs_again) {
  LogLines lines;
  async::EventLoop loop;
  async::SystemClock clock;
  async::Random random{1};
  const async::Runtime runtime{loop.executor(), clock, random};
  async::TaskScope scope(runtime, [](const std::string&, const std::string&) {});
  async::Event event("a node changed");
  // An operator gets a dump whatever the level is.
  const StackDump dump(runtime, Logger(lines.sink(LogLevel::warning), "nodepool.stack_dump"));
  scope.spawn("worker", await_event(event));
  while (loop.poll()) {
  }

  ::kill(::getpid(), SIGUSR2);
  const std::string stacks = lines.wait_for("thread(s)\n");
  EXPECT_THAT(stacks, HasSubstr("nodepool.stack_dump: 1 thread(s)\nThread \""));
  EXPECT_THAT(stacks, Not(HasSubstr("task(s)")));

  // The dump asks the loop for its tasks right after the threads.
  const auto give_up = std::chrono::steady_clock::now() + test_support::kPatience;
  while (!loop.poll() && std::chrono::steady_clock::now() < give_up) std::this_thread::yield();
  const std::string tasks = lines.wait_for("task(s)\n");
  EXPECT_THAT(tasks, ContainsRegex("1 task.s.\nTask \"worker\", [0-9]+\\.[0-9] s old\n"
                                   "    waits [0-9]+\\.[0-9] s: event: a node changed\n"));
  loop.run(scope.stop());
}

TEST(StackDumpTest, a_blocked_loop_is_logged_once) {
  LogLines lines;
  async::EventLoop loop;
  async::SystemClock clock;
  async::Random random{1};
  const async::Runtime runtime{loop.executor(), clock, random};
  std::vector<async::Duration> lags;
  const StackDump dump(runtime, Logger(lines.sink(), "nodepool.stack_dump"),
                       {.pause = std::chrono::milliseconds(20),
                        .turned = [&lags](async::Duration lag) { lags.push_back(lag); }});

  // The loop does not run: the first check fails.
  const std::string stalled = lines.wait_for("thread(s)\n");
  EXPECT_THAT(stalled,
              ContainsRegex("The event loop has been blocked for [0-9]+\\.[0-9] s: 1 thread"));

  // It runs again, and the checks continue.
  const auto give_up = std::chrono::steady_clock::now() + test_support::kPatience;
  while (lags.size() < 3 && std::chrono::steady_clock::now() < give_up) loop.poll();
  ASSERT_GE(lags.size(), 3U);
  EXPECT_GE(lags.front(), std::chrono::milliseconds(20));
  EXPECT_THAT(lines.wait_for("task(s)"), HasSubstr("0 task(s)"));

  // It is blocked again, which is logged again.
  lines.wait_for_two("The event loop has been blocked");
}

#if !__has_feature(address_sanitizer)
TEST(StackDumpTest, without_a_free_descriptor_dumps_have_no_threads_and_checks_continue) {
  LogLines lines;
  async::EventLoop loop;
  async::SystemClock clock;
  async::Random random{1};
  const async::Runtime runtime{loop.executor(), clock, random};
  int turns = 0;
  const StackDump dump(
      runtime, Logger(lines.sink(), "nodepool.stack_dump"),
      {.pause = std::chrono::milliseconds(20), .turned = [&turns](async::Duration) { ++turns; }});
  const auto give_up = std::chrono::steady_clock::now() + test_support::kPatience;
  const auto run_until_turn = [&](int wanted) {
    while (turns < wanted && std::chrono::steady_clock::now() < give_up) loop.poll();
    EXPECT_GE(turns, wanted);
  };
  {
    const test_support::NoDescriptors none;
    ::kill(::getpid(), SIGUSR2);
    lines.wait_for("nodepool.stack_dump: threads cannot be listed: ");
    run_until_turn(1);  // The next check finds it blocked.
    lines.wait_for(" s: threads cannot be listed: ");
  }

  ::kill(::getpid(), SIGUSR2);
  lines.wait_for("nodepool.stack_dump: 1 thread(s)\n");
  run_until_turn(3);
}
#endif

TEST(StackDumpTest, shows_what_tasks_wait_for) {
  using std::chrono::milliseconds;
  using std::chrono::minutes;
  const async::LiveTask busy{"request 200-0000000001", minutes(125), {}};
  const async::LiveTask waiting{
      "host check",
      seconds(75),
      {{"deadline: connecting", milliseconds(1250), seconds(28)}, {"socket", seconds(0), {}}}};
  EXPECT_EQ(describe({busy, waiting}),
            "2 task(s)\n"
            "Task \"request 200-0000000001\", 2 h 5 min old\n"
            "Task \"host check\", 75 s old\n"
            "    waits 1.2 s: deadline: connecting, 28 s left\n"
            "    waits 0.0 s: socket");
}

}  // namespace
}  // namespace nodepool::telemetry
