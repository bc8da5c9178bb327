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

// Threads for calls that block (name look-up, file trees): the event loop's thread never blocks.
// They are started for the first call: most commands make none. Used by one event loop.
class ThreadPool {
 public:
  // The threads carry `name` (its first 15 characters) in stack dumps and in ps -L. Without threads
  // calls run on the loop: for simulations, in which a seed decides the order of everything.
  ThreadPool(std::size_t threads, const std::string& name);
  // Waits for calls under way. The event loops of the tasks that wait for them must still exist.
  ~ThreadPool();
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  // Runs `call` on one of the threads and returns its result, or throws what it threw. Not a
  // cancellation point. `call` owns all it uses. `what` names the call in stack dumps; a literal.
  template <typename Call>
  Task<std::invoke_result_t<Call>> run(std::string_view what, Call call) {
    using Result = std::invoke_result_t<Call>;
    // Shared, because a task may be torn down while its call runs on.
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

  // Runs `call` on one of the threads, and then `on_return` on `loop`: for a caller that may go on
  // without it. Neither may throw; both own all they use. `loop` must outlive the pool.
  void start(const Executor& loop, std::move_only_function<void()> call,
             std::move_only_function<void()> on_return);

  // Whether no call is under way: each that was started has returned, and its task, or on_return,
  // has been told.
  bool idle() const { return *under_way_ == 0; }

 private:
  template <typename Result>
  struct Outcome {
    std::optional<Result> value;
    std::exception_ptr failure;
  };

  Task<> run_job(std::string_view what, std::function<void()> job);

  struct Threads;
  std::size_t count_;
  std::string name_;
  std::unique_ptr<Threads> threads_;  // null before the first call
  std::shared_ptr<std::size_t> under_way_ = std::make_shared<std::size_t>(0);  // the loop's
};

template <>
struct ThreadPool::Outcome<void> {
  std::exception_ptr failure;
};

}  // namespace nodepool::async
