#pragma once

#include <string>

#include "async/runtime.h"
#include "async/task_scope.h"
#include "coordination/store.h"

namespace nodepool::coordination {

// Completes what locks could not complete: a contender whose removal failed, because the store was
// out of reach or full, would hold its lock for as long as its session lasts. The same is true of
// whatever else a session has made, and nobody else removes.
//
// A process has one for its store. While it exists, the release of a lock of that store does not
// fail; what it leaves behind is removed as soon as the store allows it.
class LockSweeper {
 public:
  // `store` outlives this, and has no other sweeper.
  LockSweeper(const async::Runtime& runtime, Store& store);
  ~LockSweeper();
  LockSweeper(const LockSweeper&) = delete;
  LockSweeper& operator=(const LockSweeper&) = delete;

  // Removes what is below `root` and whose name begins with `prefix`: the contenders of one lock
  // object, say.
  void take_over(std::string root, std::string prefix);

  // Ends the work: what is still left ends with the session.
  Task<> stop();

 private:
  Task<> sweep(std::string root, std::string prefix);
  Task<> remove_contenders(std::string root, std::string prefix);

  async::Runtime runtime_;
  Store& store_;
  async::TaskScope scope_;
};

}  // namespace nodepool::coordination
