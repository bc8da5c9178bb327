#pragma once

#include <initializer_list>
#include <memory>

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

 private:
  struct Set;
  std::unique_ptr<Set> set_;
};

}  // namespace nodepool::async
