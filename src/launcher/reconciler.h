#pragma once

#include <functional>
#include <memory>
#include <string>

#include "async/task_scope.h"
#include "driver/driver.h"
#include "launcher/context.h"
#include "launcher/history_recorder.h"
#include "launcher/terminated_machine_detector.h"

namespace nodepool::launcher {

// Reconciles a provider's cloud with the records every minute: reports nodes with terminated
// machines, and has the provider delete leaked resources.
class Reconciler {
 public:
  // `context` and `history` outlive it.
  Reconciler(const WorkerContext& context, HistoryRecorder& history,
             std::shared_ptr<driver::Provider> provider, telemetry::Logger log);

  // Starts the work if the provider launches nodes.
  void start();

  // Ends the work in progress.
  Task<> stop();

 private:
  // Does `work` every minute.
  Task<> repeat(std::string what, std::function<Task<>()> work);
  // Returns whether it succeeded. Logs a failure as a warning if the previous attempt succeeded.
  Task<bool> attempt(std::string what, Task<> work, bool was_failing);

  async::Runtime runtime_;
  std::shared_ptr<driver::Provider> provider_;
  telemetry::Logger log_;
  TerminatedMachineDetector terminated_machines_;
  async::TaskScope scope_;
};

}  // namespace nodepool::launcher
