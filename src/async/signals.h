#pragma once

#include <initializer_list>
#include <memory>
#include <optional>

#include "async/task.h"

namespace nodepool::async {

// Receives signals of the operating system on the loop. While it exists, these signals do not have
// their default effect. A signal without a waiting task is kept for the next wait.
class Signals {
 public:
  Signals(const Executor& executor, std::initializer_list<int> numbers);
  ~Signals();
  Signals(const Signals&) = delete;
  Signals& operator=(const Signals&) = delete;

  // Returns the number of the next signal. Throws Cancelled.
  Task<int> next();

  // Runs `work` and cancels it when a signal arrives. Returns that signal, even if the work has
  // completed nevertheless. Throws what the work throws, unless the signal cancelled it.
  Task<std::optional<int>> until_next(Task<> work);

 private:
  struct Set;
  std::unique_ptr<Set> set_;
};

}  // namespace nodepool::async
