#pragma once

#include <cstddef>
#include <deque>
#include <functional>
#include <future>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>

#include "async/runtime.h"
#include "async/task_scope.h"
#include "async/thread_pool.h"
#include "driver/cloud_error.h"
#include "telemetry/log.h"
#include "telemetry/metrics.h"

namespace nodepool::driver {

using async::Task;

// Makes the blocking calls of one provider on threads: one at a time, in the order in which they
// were asked for, and no more in a second than its cloud wants to see.
//
// Nothing can end a thread. So a call that has not returned by its deadline is left behind: it goes
// on by itself, its result is lost, its caller gets CloudError, and the next call begins. Hence
// "one at a time" holds only while calls keep to their deadline: what they use must bear a call
// that was left behind beside the present one, and is owned by the calls, for one that was left
// behind may outlive the provider. While kMostLeftBehind are out there, no other is begun. A call
// that never returns keeps its thread for good, and the process from ending: calls need timeouts of
// their own, of less than the deadline.
//
// It tells of the calls (telemetry/cloud_call_metrics.h), and of those that wait or were left
// behind (driver/driver_metrics.h).
class TaskManager {
 public:
  struct Options {
    double calls_per_second = 0;                          // 0 or less: as many as there are
    async::Duration deadline = std::chrono::seconds(60);  // for each call, from its beginning
  };

  // The most calls that may be left behind at a time: every one of them takes a thread from all.
  static constexpr std::size_t kMostLeftBehind = 2;

  // `threads` must outlive it, and all that was left behind.
  TaskManager(const async::Runtime& runtime, async::ThreadPool& threads, std::string provider,
              Options options, telemetry::Metrics metrics, telemetry::Logger log);
  ~TaskManager();
  TaskManager(const TaskManager&) = delete;
  TaskManager& operator=(const TaskManager&) = delete;

  // Begins to make calls: those that have been submitted already, too.
  void start();

  // Refuses the calls that wait, and all that come; returns when the one that is being made has
  // returned, or has been left behind. Those that were left behind are not waited for.
  Task<> stop();

  // Makes a call when its turn comes, and returns its result or throws what it threw. `name` is for
  // logs, metrics and stack dumps: "create_instance". `call` runs on a thread and owns all it uses.
  //
  // A cancellation takes a waiting call out of the queue. One that is being made goes on, and is
  // waited for: its outcome matters. Throws Cancelled; CloudError(unknown_outcome) if the call was
  // left behind; CloudError(transient) if it was not made.
  template <typename Call>
  Task<std::invoke_result_t<Call&>> submit(std::string name, Call call) {
    std::packaged_task<std::invoke_result_t<Call&>()> task(std::move(call));
    auto result = task.get_future();
    co_await perform(std::move(name), std::move(task));
    co_return result.get();
  }

 private:
  struct Job;
  struct Progress;

  Task<> perform(std::string name, std::move_only_function<void()> call);
  Task<> serve();
  Task<> make_call(std::shared_ptr<Job> job);
  void abandon(const std::shared_ptr<Job>& job);
  void report_queue() const;

  async::Runtime runtime_;
  async::ThreadPool& threads_;
  std::string provider_;
  Options options_;
  telemetry::Metrics metrics_;
  telemetry::Logger log_;
  std::deque<std::shared_ptr<Job>> queue_;
  std::shared_ptr<Progress> progress_;  // shared with the calls that are left behind
  async::Clock::TimePoint next_start_{};
  bool stopping_ = false;
  async::TaskScope scope_;
};

}  // namespace nodepool::driver
