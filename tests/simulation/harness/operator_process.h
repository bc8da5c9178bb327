#pragma once

#include <string>

#include "async/task_scope.h"
#include "model/node.h"
#include "tests/simulation/harness/auditor.h"
#include "tests/simulation/harness/holds.h"
#include "tests/simulation/harness/process.h"

namespace nodepool::simulation {

using async::Task;

// People and foreign programs that write to the store: they hold, delete and erase nodes, and leave
// records that nobody can read.
class OperatorProcess final : public Process {
 public:
  // One who is not `busy` does nothing until the end.
  OperatorProcess(World& world, const Holds& holds, const Auditor& auditor,
                  coordination::FaultPlan plan, bool busy);

  // From now on only ends holds, of whoever it was that set the nodes to `hold`.
  void finish() { finishing_ = true; }

 private:
  Task<> run();
  Task<> act();
  Task<> leave_garbage();
  Task<> set_state(std::string id, model::NodeState from, model::NodeState to);
  Task<> set_state_locked(std::string id, model::NodeState from, model::NodeState to);
  Task<> erase(std::string id);
  Task<> end_holds();

  const Holds& holds_;
  const Auditor& auditor_;
  bool busy_;
  bool finishing_ = false;
  async::TaskScope scope_;
};

}  // namespace nodepool::simulation
