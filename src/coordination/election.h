#pragma once

#include <functional>
#include <string>

#include "async/runtime.h"
#include "coordination/store.h"

namespace nodepool::coordination {

// Lets one of several processes at a time do a job.
class Election {
 public:
  using Leader = std::function<Task<>()>;

  // `root` is the election's lock root; missing parents are created. `identifier` names this
  // candidate for whoever looks.
  Election(const async::Runtime& runtime, Store& store, std::string root, std::string identifier);

  // Waits to be elected, runs `lead`, and when that returns or throws gives the office up and
  // returns or throws. `lead` is cancelled as soon as the session is no longer connected, since
  // another process may be elected then; run() then stands for election again.
  // Throws async::Cancelled.
  Task<> run(Leader lead);

 private:
  Task<bool> lead_once(Leader lead);

  async::Runtime runtime_;
  Store& store_;
  std::string root_;
  std::string identifier_;
};

}  // namespace nodepool::coordination
