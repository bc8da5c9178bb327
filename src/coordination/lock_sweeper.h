#pragma once

#include <string>

#include "async/runtime.h"
#include "async/task_scope.h"
#include "coordination/store.h"

namespace nodepool::coordination {

// Retries the removal of contenders, and of other ephemeral nodes, that failed because the store
// was unreachable or full. Without it, they would exist until the session ends.
//
// A process has one for its store. While it exists, releasing a lock of that store does not fail.
class LockSweeper {
 public:
  // `store` outlives this, and has no other sweeper.
  LockSweeper(const async::Runtime& runtime, Store& store);
  ~LockSweeper();
  LockSweeper(const LockSweeper&) = delete;
  LockSweeper& operator=(const LockSweeper&) = delete;

  // Removes the children of `root` whose name begins with `prefix`, such as the contenders of one
  // lock object.
  void take_over(std::string root, std::string prefix);

  // Stops. What is left ends with the session.
  Task<> stop();

 private:
  Task<> sweep(std::string root, std::string prefix);
  Task<> remove_contenders(std::string root, std::string prefix);

  async::Runtime runtime_;
  Store& store_;
  async::TaskScope scope_;
};

}  // namespace nodepool::coordination
