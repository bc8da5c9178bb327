#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "async/task.h"

namespace nodepool::async {

// Receives signals of the operating system on the loop. While it exists, these signals do not have
// their default effect. A signal without a waiting task is kept for the next wait.
class Signals {
 public:
  Signals(const Executor& executor, const std::vector<int>& numbers);
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

// Those of these signals that this process does not ignore; SIGTERM in any case. `nohup` starts a
// program with SIGHUP ignored, a shell script its background jobs with SIGINT and SIGQUIT.
std::vector<int> unless_ignored(std::vector<int> numbers);

}  // namespace nodepool::async
