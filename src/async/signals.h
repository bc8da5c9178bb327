#pragma once

#include <initializer_list>
#include <memory>
#include <optional>

#include "async/task.h"

namespace nodepool::async {

// Receives signals of the operating system on the loop. While it exists, none of them has its usual
// effect on the process; one that arrives while nobody waits is kept for the next wait.
class Signals {
 public:
  Signals(const Executor& executor, std::initializer_list<int> numbers);
  ~Signals();
  Signals(const Signals&) = delete;
  Signals& operator=(const Signals&) = delete;

  // Returns the number of the next signal. Throws Cancelled.
  Task<int> next();

  // Runs `work` to its end, and cancels it when a signal arrives. Returns that signal, also if the
  // work has been completed all the same. Throws what the work threw, unless the signal cut it
  // short.
  Task<std::optional<int>> until_next(Task<> work);

 private:
  struct Set;
  std::unique_ptr<Set> set_;
};

}  // namespace nodepool::async
