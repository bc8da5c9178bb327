#pragma once

#include <functional>
#include <string>

#include "async/runtime.h"
#include "coordination/store.h"

namespace nodepool::coordination {

// Leader election: one of several processes at a time does a job.
class Election {
 public:
  using Leader = std::function<Task<>()>;

  // `root` is the election's lock root; missing parents are created. `identifier` names this
  // candidate.
  Election(const async::Runtime& runtime, Store& store, std::string root, std::string identifier);

  // Waits to be elected and runs `lead`. When that returns or throws, releases the lock and returns
  // or throws. Cancels `lead` when the session is no longer connected, because another process may
  // be elected then, and starts again. Throws async::Cancelled.
  Task<> run(Leader lead);

 private:
  Task<bool> lead_once(Leader lead);

  async::Runtime runtime_;
  Store& store_;
  std::string root_;
  std::string identifier_;
};

}  // namespace nodepool::coordination
