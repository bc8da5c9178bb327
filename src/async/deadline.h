#pragma once

#include <optional>
#include <string>
#include <utility>

#include "async/clock.h"
#include "async/task.h"

namespace nodepool::async {

// Runs `task` and cancels it at `when`. Returns when the task has ended, with its result if it has
// completed nevertheless. Throws what the task throws, or DeadlineExceeded, with the operation
// `what` in the message, if it was cancelled. Passes a cancellation of the caller to the task.
Task<> with_deadline(Clock& clock, Clock::TimePoint when, Task<> task, std::string what);

// Like with_deadline, but the deadline is when `limit` returns.
Task<> with_limit(Task<> limit, Task<> task, std::string what);

template <typename T>
Task<T> with_deadline(Clock& clock, Clock::TimePoint when, Task<T> task, std::string what) {
  std::optional<T> result;
  auto run = [](Task<T> inner, std::optional<T>& out) -> Task<> {
    out.emplace(co_await std::move(inner));
  };
  Task<> running = run(std::move(task), result);
  co_await with_deadline(clock, when, std::move(running), std::move(what));
  co_return std::move(*result);
}

}  // namespace nodepool::async
