#pragma once

#include <exception>
#include <functional>
#include <optional>
#include <type_traits>
#include <utility>

#include "async/task.h"

namespace nodepool::async {

// Runs `work`, then `after`, whether `work` returns, throws or is cancelled. Returns or throws what
// `work` does, unless `after` throws. (An exception handler cannot co_await.)
template <typename Result>
Task<Result> finally(Task<Result> work, std::function<Task<>()> after) {
  std::exception_ptr failure;
  std::conditional_t<std::is_void_v<Result>, bool, std::optional<Result>> result{};
  try {
    if constexpr (std::is_void_v<Result>) {
      co_await std::move(work);
    } else {
      result.emplace(co_await std::move(work));
    }
  } catch (...) {
    failure = std::current_exception();
  }
  Task<> last = after();
  co_await std::move(last);
  if (failure) std::rethrow_exception(failure);
  if constexpr (!std::is_void_v<Result>) co_return *std::move(result);
}

// The same, but runs `after` only if `work` throws or is cancelled.
template <typename Result>
Task<Result> undo_on_failure(Task<Result> work, std::function<Task<>()> undo) {
  std::exception_ptr failure;
  try {
    co_return co_await std::move(work);
  } catch (...) {
    failure = std::current_exception();
  }
  Task<> undoing = undo();
  co_await std::move(undoing);
  std::rethrow_exception(failure);
}

}  // namespace nodepool::async
