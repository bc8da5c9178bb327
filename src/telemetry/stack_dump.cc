#include "telemetry/stack_dump.h"

#include <fmt/format.h>
#include <pthread.h>
#include <signal.h>

#include <chrono>
#include <map>
#include <thread>
#include <utility>

#include <boost/asio/post.hpp>

#include "async/event.h"
#include "async/event_loop.h"
#include "async/signals.h"
#include "telemetry/thread_stacks.h"

namespace nodepool::telemetry {

namespace {

// Threads of a pool that wait for work all look the same: they are told together.
std::string describe(const std::vector<ThreadStacks::Stack>& stacks) {
  std::map<std::pair<std::string, std::vector<std::string>>, std::vector<pid_t>> alike;
  for (const auto& stack : stacks) alike[{stack.name, stack.frames}].push_back(stack.id);
  std::string text = fmt::format("{} thread(s)", stacks.size());
  for (const auto& [what, ids] : alike) {
    const auto& [name, frames] = what;
    text += fmt::format("\nThread \"{}\" ({})", name, fmt::join(ids, ", "));
    if (frames.empty()) text += "\n    does not answer: in the kernel";
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
  Responder(const async::Runtime& of_tasks, Logger to)
      : runtime(of_tasks), log(std::move(to)), signals(loop.executor(), {SIGUSR2}) {
    thread = std::jthread([this] {
      ::pthread_setname_np(::pthread_self(), "stack dump");
      async::Task<> answering = answer();
      loop.run(std::move(answering));
    });
  }

  ~Responder() {
    boost::asio::post(loop.executor(), [this] {
      over = true;
      wake.set();
    });
  }

  async::Task<> answer() {
    while (!over) {
      const auto signal = co_await signals.until_next(wake.wait());
      if (signal) dump();
    }
  }

  void dump() {
    log.info("{}", describe(stacks.take()));
    boost::asio::post(runtime.executor, [runtime = runtime, log = log] {
      log.info("{}", telemetry::describe(async::live_tasks(runtime.executor)));
    });
  }

  async::Runtime runtime;
  Logger log;
  ThreadStacks stacks;
  async::EventLoop loop;  // of the responding thread
  async::Signals signals;
  async::Event wake;
  bool over = false;  // of that thread alone
  std::jthread thread;
};

StackDump::StackDump(const async::Runtime& runtime, Logger log)
    : responder_(std::make_unique<Responder>(runtime, std::move(log))) {}

StackDump::~StackDump() = default;

}  // namespace nodepool::telemetry
