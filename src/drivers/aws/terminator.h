#pragma once

#include <memory>
#include <string>
#include <vector>

#include "async/event.h"
#include "async/runtime.h"
#include "async/task_scope.h"
#include "drivers/aws/api/ec2.h"

namespace nodepool::drivers::aws {

// Terminates instances in batches: requests that arrive during a call go into the next one.
class Terminator {
 public:
  // `ec2` outlives it.
  Terminator(const async::Runtime& runtime, Ec2& ec2);

  // Returns when EC2 has accepted the termination. Returns whether the instance existed. Throws
  // CloudError.
  async::Task<bool> terminate(std::string id);

  // Call it after the last terminate() has returned.
  async::Task<> stop() { return scope_.stop(); }

 private:
  struct Termination;

  async::Task<> work();
  async::Task<bool> terminate_all(std::vector<std::shared_ptr<Termination>> batch);
  async::Task<> terminate_one(std::shared_ptr<Termination> termination);

  Ec2& ec2_;
  std::vector<std::shared_ptr<Termination>> terminations_;
  bool is_working_ = false;
  async::TaskScope scope_;
};

}  // namespace nodepool::drivers::aws
