#include "telemetry/stack_dump.h"

#include <fmt/format.h>
#include <pthread.h>
#include <signal.h>

#include <atomic>
#include <chrono>
#include <exception>
#include <map>
#include <thread>
#include <utility>

#include <boost/asio/post.hpp>

#include "async/event.h"
#include "async/event_loop.h"
#include "async/finally.h"
#include "async/signals.h"
#include "async/task_scope.h"
#include "telemetry/log_errors.h"
#include "telemetry/thread_stacks.h"

namespace nodepool::telemetry {

namespace {

// Groups threads with the same stack, such as idle threads of a pool.
std::string describe(const std::vector<ThreadStacks::Stack>& stacks) {
  std::map<std::pair<std::string, std::vector<std::string>>, std::vector<pid_t>> alike;
  for (const auto& stack : stacks) alike[{stack.name, stack.frames}].push_back(stack.id);
  std::string text = fmt::format("{} thread(s)", stacks.size());
  for (const auto& [what, ids] : alike) {
    const auto& [name, frames] = what;
    text += fmt::format("\nThread \"{}\" ({})", name, fmt::join(ids, ", "));
    if (frames.empty()) text += "\n    does not respond: in the kernel";
    for (const std::string& frame : frames) text += "\n    " + frame;
  }
  return text;
}

// "0.3 s", "58 s", "2 h 5 min".
std::string describe(async::Duration duration) {
  using namespace std::chrono;
  if (duration < seconds(10))
    return fmt::format("{:.1f} s", std::chrono::duration<double>(duration).count());
  if (duration < minutes(10)) return fmt::format("{} s", duration_cast<seconds>(duration).count());
  const auto total = duration_cast<minutes>(duration).count();
  return total < 60 ? fmt::format("{} min", total)
                    : fmt::format("{} h {} min", total / 60, total % 60);
}

}  // namespace

std::string describe(const std::vector<async::LiveTask>& tasks) {
  std::string text = fmt::format("{} task(s)", tasks.size());
  for (const async::LiveTask& task : tasks) {
    text += fmt::format("\nTask \"{}\", {} old", task.name, describe(task.age));
    for (const async::LiveTask::Wait& wait : task.waits) {
      text += fmt::format("\n    waits {}: {}", describe(wait.since), wait.what);
      if (wait.left) text += fmt::format(", {} left", describe(*wait.left));
    }
  }
  return text;
}

struct StackDump::Responder {
  // A check of the loop of the tasks.
  struct Check {
    async::Clock::TimePoint since;
    std::atomic<bool> has_run = false;
  };

  Responder(const async::Runtime& of_tasks, Logger to, LoopWatch of_loop)
      : runtime(of_tasks),
        log(std::move(to)),
        loop_watch(std::make_shared<const LoopWatch>(std::move(of_loop))),
        signals(loop.executor(), {SIGUSR2}) {
    thread = std::jthread([this] {
      ::pthread_setname_np(::pthread_self(), "stack dump");
      async::Task<> responding = respond();
      loop.run(std::move(responding));
    });
  }

  ~Responder() {
    boost::asio::post(loop.executor(), [this] {
      is_over = true;
      wake.set();
    });
  }

  async::Task<> respond() {
    async::TaskScope scope({loop.executor(), clock, random}, telemetry::log_errors(log));
    if (loop_watch->pause > async::Duration::zero()) scope.spawn("watchdog of the loop", watch());
    const auto end_watch = [&scope] { return scope.stop(); };
    async::Task<> answering = answer();
    co_await async::finally(std::move(answering), end_watch);
  }

  async::Task<> answer() {
    while (!is_over) {
      const auto signal = co_await signals.until_next(wake.wait());
      if (signal) dump();
    }
  }

  void dump() {
    log.requested(describe_threads());
    describe_tasks();
  }

  // The threads, or why they are unknown: listing them takes a file descriptor.
  std::string describe_threads() {
    try {
      return describe(stacks.take());
    } catch (const std::exception& error) {
      return fmt::format("threads cannot be listed: {}", error.what());
    }
  }

  void describe_tasks() const {
    boost::asio::post(runtime.executor, [runtime = runtime, log = log] {
      log.requested(telemetry::describe(async::live_tasks(runtime.executor)));
    });
  }

  async::Task<> watch() {
    std::shared_ptr<Check> check = begin_check();
    bool is_reported = false;
    while (true) {
      co_await clock.sleep_for(loop_watch->pause);
      if (check->has_run) {
        check = begin_check();
        is_reported = false;
      } else if (!std::exchange(is_reported, true)) {
        log.error("The event loop has been blocked for {}: {}",
                  describe(clock.now() - check->since), describe_threads());
        describe_tasks();
      }
    }
  }

  std::shared_ptr<Check> begin_check() const {
    auto check = std::make_shared<Check>(clock.now());
    boost::asio::post(runtime.executor, [check, watch = loop_watch] {
      const async::SystemClock now;
      if (watch->turned) watch->turned(now.now() - check->since);
      check->has_run = true;
    });
    return check;
  }

  async::Runtime runtime;
  Logger log;
  std::shared_ptr<const LoopWatch> loop_watch;
  ThreadStacks stacks;
  async::EventLoop loop;  // of the thread of this object
  async::SystemClock clock;
  async::Random random = async::Random::from_system();
  async::Signals signals;
  async::Event wake;
  bool is_over = false;  // used by that thread only
  std::jthread thread;
};

StackDump::StackDump(const async::Runtime& runtime, Logger log, LoopWatch watch)
    : responder_(std::make_unique<Responder>(runtime, std::move(log), std::move(watch))) {}

StackDump::~StackDump() = default;

}  // namespace nodepool::telemetry
