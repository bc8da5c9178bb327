#pragma once

#include <memory>
#include <string>

#include "async/task_scope.h"
#include "driver/driver.h"
#include "launcher/context.h"
#include "launcher/history_recorder.h"
#include "launcher/terminated_machine_detector.h"

namespace nodepool::launcher {

// Brings one provider's cloud and its nodes' records together, every minute: tells of nodes whose
// machines have ended, and has the provider delete what belongs to nodes and images that are gone.
class Reconciler {
 public:
  // `context` and `history` outlive it.
  Reconciler(const WorkerContext& context, HistoryRecorder& history,
             std::shared_ptr<driver::Provider> provider, telemetry::Logger log);

  // Begins to work, if the provider launches nodes.
  void start();

  // Ends the work in progress.
  Task<> stop();

 private:
  Task<> run();
  // What fails is logged, and keeps nothing else.
  Task<> attempt(std::string what, Task<> work);

  async::Runtime runtime_;
  std::shared_ptr<driver::Provider> provider_;
  telemetry::Logger log_;
  TerminatedMachineDetector terminated_machines_;
  async::TaskScope scope_;
};

}  // namespace nodepool::launcher
