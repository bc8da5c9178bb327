#pragma once

#include <memory>

#include "async/task_scope.h"
#include "driver/driver.h"
#include "telemetry/log.h"

namespace nodepool::launcher {

// Has one provider delete, every minute, what belongs to nodes and images that are gone.
class LeakWorker {
 public:
  LeakWorker(const async::Runtime& runtime, std::shared_ptr<driver::Provider> provider,
             telemetry::Logger log);

  // Begins to work, if the provider launches nodes.
  void start();

  // Ends the work in progress.
  async::Task<> stop();

 private:
  async::Task<> run();

  async::Runtime runtime_;
  std::shared_ptr<driver::Provider> provider_;
  telemetry::Logger log_;
  async::TaskScope scope_;
};

}  // namespace nodepool::launcher
