#include "driver/simple/task_manager.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <latch>
#include <optional>
#include <stdexcept>
#include <thread>
#include <vector>

#include <boost/asio/this_coro.hpp>

#include "async/call_tracer.h"
#include "async/event_loop.h"

namespace nodepool::driver {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

// A call that goes on until it is let go.
class Hold {
 public:
  // For submit().
  auto call(std::string result = "held") {
    return [state = state_, result] {
      state->begun = true;
      state->released.wait();
      return result;
    };
  }

  bool has_begun() const { return state_->begun; }
  void release() { state_->released.count_down(); }

 private:
  struct State {
    std::atomic<bool> begun = false;
    std::latch released{1};
  };
  std::shared_ptr<State> state_ = std::make_shared<State>();
};

class TaskManagerTest : public testing::Test {
 protected:
  // Submits a call from a task of its own; how it has ended goes to ended_.
  template <typename Call>
  void submit(const std::string& name, Call call, async::TaskScope* scope = nullptr) {
    (scope != nullptr ? *scope : callers_).spawn(name, wait_for(name, std::move(call)));
    loop_.poll();
  }

  template <typename Call>
  Task<> wait_for(std::string name, Call call) {
    std::string ending;
    try {
      ending = co_await tasks().submit(name, std::move(call));
    } catch (const CloudError& error) {
      const bool unknown = error.kind() == CloudError::Kind::unknown_outcome;
      ending = (unknown ? "unknown outcome: " : "error: ") + std::string(error.what());
    } catch (const std::exception& error) {
      ending = error.what();
    }
    ended_.push_back(name + ": " + ending);
  }

  TaskManager& tasks(TaskManager::Options options = {}) {
    if (!tasks_) {
      tasks_.emplace(runtime_, threads_, "rack", options, metrics_,
                     telemetry::Logger(log_sink_, "t"));
      tasks_->start();
    }
    return *tasks_;
  }

  // Runs the loop until something has happened that threads have a part in.
  template <typename Condition>
  void run_until(Condition condition) {
    while (!condition()) {
      loop_.poll();
      std::this_thread::yield();
    }
    loop_.poll();
  }

  void run_until_ended(std::size_t count) {
    run_until([&] { return ended_.size() >= count; });
  }

  void pass(async::Duration duration) {
    loop_.poll();
    clock_.advance_by(duration);
    loop_.poll();
  }

  void TearDown() override {
    loop_.run(callers_.stop());
    if (tasks_) loop_.run(tasks_->stop());
  }

  async::EventLoop loop_;
  async::VirtualClock clock_;
  async::Random random_{1};
  async::Runtime runtime_{loop_.executor(), clock_, random_};
  std::vector<std::string> log_;
  std::shared_ptr<telemetry::Log> log_sink_ =
      telemetry::Log::to_consumer([this](telemetry::LogLevel, std::string_view,
                                         std::string_view message) { log_.emplace_back(message); });
  std::vector<std::string> figures_;
  telemetry::Metrics metrics_{[this](std::string_view lines) { figures_.emplace_back(lines); }};
  async::ThreadPool threads_{4, "test"};
  async::TaskScope callers_{
      runtime_, [this](const std::string&, const std::string& error) { log_.push_back(error); }};
  std::optional<TaskManager> tasks_;
  std::vector<std::string> ended_;
};

TEST_F(TaskManagerTest, results_and_errors_come_back) {
  EXPECT_EQ(loop_.run(tasks().submit("number", [] { return 42; })), 42);
  bool ran = false;
  loop_.run(tasks().submit("nothing", [&ran] { ran = true; }));
  EXPECT_TRUE(ran);
  submit("bad", []() -> std::string { throw std::runtime_error("on fire"); });
  submit("cloud", []() -> std::string { throw CloudError(CloudError::Kind::quota, "no more"); });
  run_until_ended(2);
  EXPECT_THAT(ended_, ElementsAre("bad: on fire", "cloud: error: no more"));
}

TEST_F(TaskManagerTest, calls_are_made_one_at_a_time_and_in_order) {
  std::atomic<int> running = 0;
  std::atomic<int> most = 0;
  for (const std::string name : {"a", "b", "c", "d"}) {
    submit(name, [&running, &most] {
      most = std::max(most.load(), ++running);
      std::this_thread::yield();
      --running;
      return std::string("done");
    });
  }
  run_until_ended(4);
  EXPECT_THAT(ended_, ElementsAre("a: done", "b: done", "c: done", "d: done"));
  EXPECT_EQ(most, 1);
}

TEST_F(TaskManagerTest, a_call_waits_for_the_one_before) {
  Hold first;
  Hold second;
  submit("first", first.call());
  submit("second", second.call());
  run_until([&] { return first.has_begun(); });
  EXPECT_FALSE(second.has_begun());
  first.release();
  run_until([&] { return second.has_begun(); });
  EXPECT_THAT(ended_, ElementsAre("first: held"));
  second.release();
  run_until_ended(2);
}

TEST_F(TaskManagerTest, no_more_calls_a_second_than_are_allowed) {
  tasks({.calls_per_second = 2});
  const auto quick = [] { return std::string("done"); };
  const auto begun = clock_.now();
  for (const std::string name : {"a", "b", "c"}) submit(name, quick);
  run_until_ended(1);
  EXPECT_EQ(clock_.next_wakeup(), begun + milliseconds(500));
  pass(milliseconds(499));
  EXPECT_THAT(ended_, ElementsAre("a: done"));
  pass(milliseconds(1));
  run_until_ended(2);
  EXPECT_EQ(clock_.next_wakeup(), begun + seconds(1));
  pass(milliseconds(500));
  run_until_ended(3);
}

// Notes when a call begins.
struct StartTracer final : async::CallTracer {
  explicit StartTracer(async::Clock& clock_in) : clock(clock_in) {}
  void sending(bool /*is_retry*/) override { started = clock.now(); }

  static Task<> trace(std::shared_ptr<StartTracer> tracer, Task<> call) {
    async::set_tracer(co_await boost::asio::this_coro::executor, tracer);
    co_await std::move(call);
  }

  async::Clock& clock;
  std::optional<async::Clock::TimePoint> started;
};

TEST_F(TaskManagerTest, the_call_tracer_is_told_when_a_call_has_its_turn) {
  tasks({.calls_per_second = 1});
  const auto quick = [] { return std::string("done"); };
  const auto tracer = std::make_shared<StartTracer>(clock_);
  const auto begun = clock_.now();
  submit("first", quick);
  callers_.spawn("second", StartTracer::trace(tracer, wait_for("second", quick)));
  run_until_ended(1);
  EXPECT_FALSE(tracer->started);
  pass(seconds(1));
  run_until_ended(2);
  EXPECT_EQ(tracer->started, begun + seconds(1));
}

TEST_F(TaskManagerTest, a_call_beyond_its_deadline_is_left_behind) {
  tasks({.deadline = seconds(10)});
  Hold stuck;
  submit("stuck", stuck.call());
  submit("next", [] { return std::string("done"); });
  run_until([&] { return stuck.has_begun(); });
  pass(seconds(9));
  EXPECT_THAT(ended_, IsEmpty());
  pass(seconds(1));
  run_until_ended(2);
  EXPECT_THAT(ended_,
              ElementsAre("stuck: unknown outcome: stuck: timed out after 10 s", "next: done"));
  EXPECT_THAT(figures_, Contains("nodepool.provider.rack.tasks_abandoned:1|c"));
  log_.clear();
  stuck.release();
  run_until([&] { return !log_.empty(); });
  EXPECT_THAT(log_, ElementsAre(HasSubstr("Abandoned call stuck has returned")));
}

TEST_F(TaskManagerTest, only_so_many_calls_are_left_behind_at_a_time) {
  tasks({.deadline = seconds(10)});
  std::vector<Hold> stuck(TaskManager::kMaxAbandoned);
  for (std::size_t i = 0; i < stuck.size(); ++i) {
    submit("stuck", stuck[i].call());
    run_until([&] { return stuck[i].has_begun(); });
    pass(seconds(10));
    run_until_ended(i + 1);
  }
  Hold next;
  submit("next", next.call());
  pass(seconds(100));
  EXPECT_FALSE(next.has_begun());
  stuck[0].release();
  run_until([&] { return next.has_begun(); });
  next.release();
  run_until_ended(stuck.size() + 1);
  stuck[1].release();
}

TEST_F(TaskManagerTest, a_call_that_no_thread_begins_in_time_is_not_made) {
  tasks({.deadline = seconds(10)});
  std::vector<Hold> others(4);
  for (Hold& other : others) threads_.start(loop_.executor(), other.call(), [] {});
  std::atomic<bool> made = false;
  submit("late", [&made] {
    made = true;
    return std::string("done");
  });
  pass(seconds(10));
  EXPECT_THAT(ended_, ElementsAre(HasSubstr("late: error: late: no free thread")));
  for (Hold& other : others) other.release();
  loop_.run(threads_.run("after it", [] {}));
  EXPECT_FALSE(made);
}

TEST_F(TaskManagerTest, a_cancelled_caller_leaves_the_queue) {
  Hold first;
  submit("first", first.call());
  run_until([&] { return first.has_begun(); });
  std::atomic<bool> made = false;
  async::TaskScope impatient(runtime_, [](const std::string&, const std::string&) {});
  submit(
      "second",
      [&made] {
        made = true;
        return std::string("done");
      },
      &impatient);
  loop_.run(impatient.stop());
  EXPECT_THAT(ended_, ElementsAre("second: cancelled"));
  first.release();
  run_until_ended(2);
  EXPECT_EQ(loop_.run(tasks().submit("third", [] { return 3; })), 3);
  EXPECT_FALSE(made);
}

TEST_F(TaskManagerTest, a_call_that_is_being_made_goes_on_when_its_caller_is_cancelled) {
  Hold call;
  async::TaskScope impatient(runtime_, [](const std::string&, const std::string&) {});
  submit("call", call.call("machine-1"), &impatient);
  run_until([&] { return call.has_begun(); });
  impatient.cancel();
  loop_.poll();
  EXPECT_FALSE(impatient.empty());
  call.release();
  loop_.run(impatient.join());
  EXPECT_THAT(ended_, ElementsAre("call: machine-1"));
}

TEST_F(TaskManagerTest, stopping_refuses_what_waits_and_waits_for_what_is_being_made) {
  Hold running;
  submit("running", running.call());
  run_until([&] { return running.has_begun(); });
  submit("waiting", [] { return std::string("done"); });
  async::TaskScope stopping(runtime_, [](const std::string&, const std::string&) {});
  stopping.spawn("stop", tasks().stop());
  run_until_ended(1);
  EXPECT_THAT(ended_, ElementsAre("waiting: error: waiting: provider rack is stopping"));
  submit("late", [] { return std::string("done"); });
  EXPECT_EQ(ended_.back(), "late: error: late: provider rack is stopping");
  EXPECT_FALSE(stopping.empty());
  running.release();
  loop_.run(stopping.join());
  EXPECT_EQ(ended_.back(), "running: held");
}

TEST_F(TaskManagerTest, what_was_left_behind_outlives_the_manager) {
  tasks({.deadline = seconds(10)});
  Hold stuck;
  submit("stuck", stuck.call());
  run_until([&] { return stuck.has_begun(); });
  pass(seconds(10));
  run_until_ended(1);
  loop_.run(tasks_->stop());
  tasks_.reset();
  log_.clear();
  stuck.release();
  run_until([&] { return !log_.empty(); });
}

TEST_F(TaskManagerTest, the_queue_and_the_times_are_reported) {
  Hold first;
  submit("first", first.call());
  run_until([&] { return first.has_begun(); });
  submit("second", [] { return std::string("done"); });
  pass(seconds(3));
  EXPECT_EQ(figures_.back(), "nodepool.provider.rack.task_queue:1|g");
  first.release();
  run_until_ended(2);
  EXPECT_THAT(figures_, Contains("nodepool.task.rack.first:3000.000000|ms\n"
                                 "nodepool.task.rack.first:1|c"));
  EXPECT_THAT(figures_, Contains("nodepool.provider.rack.task_wait.second:3000.000000|ms"));
  EXPECT_THAT(figures_, Contains("nodepool.provider.rack.task_queue:0|g"));
}

}  // namespace
}  // namespace nodepool::driver
