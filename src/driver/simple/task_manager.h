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

// Makes the blocking calls of one provider on threads: one at a time, in the order of submission,
// with a rate limit.
//
// A thread cannot be stopped. A call that has not returned by its deadline is therefore abandoned:
// it continues on its thread, its result is dropped, its caller gets CloudError, and the next call
// begins. An abandoned call may thus run beside the current one and outlive the provider: calls
// must be safe for that, and own what they use. While kMaxAbandoned calls are abandoned, no call
// begins. A call that never returns occupies its thread forever and keeps the process from exiting:
// calls need their own timeouts, shorter than the deadline.
//
// Reports metrics of the calls (telemetry/cloud_call_metrics.h), and of queued and abandoned calls
// (driver/driver_metrics.h).
class TaskManager {
 public:
  struct Options {
    double calls_per_second = 0;                          // 0 or less: no rate limit
    async::Duration deadline = std::chrono::seconds(60);  // for each call, from its start
  };

  // The maximum number of abandoned calls: each occupies a thread of the shared pool.
  static constexpr std::size_t kMaxAbandoned = 2;

  // `threads` outlives this and all abandoned calls.
  TaskManager(const async::Runtime& runtime, async::ThreadPool& threads, std::string provider,
              Options options, telemetry::Metrics metrics, telemetry::Logger log);
  ~TaskManager();
  TaskManager(const TaskManager&) = delete;
  TaskManager& operator=(const TaskManager&) = delete;

  // Begins to make calls, including those already submitted.
  void start();

  // Refuses queued and new calls. Returns when the current call has returned or was abandoned; does
  // not wait for abandoned calls.
  Task<> stop();

  // Queues a call, makes it, and returns its result or throws its exception. `name` is for logs,
  // metrics and stack dumps: "create_instance". `call` runs on a thread and owns all it uses.
  //
  // Cancellation removes a queued call from the queue. A call that is being made is waited for, as
  // its outcome matters. Throws Cancelled, CloudError(unknown_outcome) if the call was abandoned,
  // and CloudError(transient) if it was not made.
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
  std::shared_ptr<Progress> progress_;  // shared with abandoned calls
  async::Clock::TimePoint next_start_{};
  bool stopping_ = false;
  async::TaskScope scope_;
};

}  // namespace nodepool::driver
