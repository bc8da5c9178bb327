#pragma once

#include <cstddef>
#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include "async/task.h"

namespace nodepool::async {

// Threads for blocking calls (name look-up, file trees), so that the event loop's thread never
// blocks. Started with the first call, because most commands make none. Used by one event loop.
class ThreadPool {
 public:
  // The first 15 characters of `name` name the threads in stack dumps and in ps -L. With 0 threads,
  // calls run on the loop, for deterministic simulations.
  ThreadPool(std::size_t threads, const std::string& name);
  // Waits for running calls. The event loops of their waiting tasks must still exist.
  ~ThreadPool();
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  // Another pool, for calls that may hang: they occupy no thread of this one. Both count the calls
  // of both as pending. It has no threads if this one has none.
  ThreadPool beside(std::size_t threads, const std::string& name) const;

  // Runs `call` on a thread; returns its result or throws what it threw. Not a cancellation point.
  // `call` owns all its data. `what` names the call in stack dumps; a literal.
  template <typename Call>
  Task<std::invoke_result_t<Call>> run(std::string_view what, Call call) {
    using Result = std::invoke_result_t<Call>;
    // Shared, because a task may be destroyed while its call runs.
    auto outcome = std::make_shared<Outcome<Result>>();
    std::function<void()> job = [outcome, call = std::move(call)]() mutable {
      try {
        if constexpr (std::is_void_v<Result>) {
          call();
        } else {
          outcome->value.emplace(call());
        }
      } catch (...) {
        outcome->failure = std::current_exception();
      }
    };
    co_await run_job(what, std::move(job));
    if (outcome->failure) std::rethrow_exception(outcome->failure);
    if constexpr (!std::is_void_v<Result>) co_return std::move(*outcome->value);
  }

  // Runs `call` on a thread, then `on_return` on `loop`, without waiting. Neither may throw; both
  // own all their data. `loop` must outlive the pool.
  void start(const Executor& loop, std::move_only_function<void()> call,
             std::move_only_function<void()> on_return);

  // Whether no call is pending: all calls have returned, and their tasks or `on_return` have run.
  bool idle() const { return *pending_ == 0; }

 private:
  template <typename Result>
  struct Outcome {
    std::optional<Result> value;
    std::exception_ptr failure;
  };

  ThreadPool(std::size_t threads, const std::string& name, std::shared_ptr<std::size_t> pending);

  Task<> run_job(std::string_view what, std::function<void()> job);

  struct Threads;
  std::size_t count_;
  std::string name_;
  std::unique_ptr<Threads> threads_;      // null before the first call
  std::shared_ptr<std::size_t> pending_;  // used on the loop
};

template <>
struct ThreadPool::Outcome<void> {
  std::exception_ptr failure;
};

}  // namespace nodepool::async
