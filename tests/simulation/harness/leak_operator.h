#pragma once

#include <map>
#include <string>

#include "async/task_scope.h"
#include "async/thread_pool.h"
#include "driver/driver.h"
#include "model/image_table.h"
#include "model/node_table.h"
#include "tests/simulation/harness/custody.h"

namespace nodepool::simulation {

using async::Task;

// Somebody who knows which machines nobody uses any more since the store was replaced, and has them
// deleted, as `nodepool leak-list` and `nodepool leak-delete` do it.
class LeakOperatorProcess final : public Process {
 public:
  LeakOperatorProcess(World& world, const Custody& custody, const driver::DriverRegistry& drivers,
                      config::Config config);

 private:
  async::TaskScope::ErrorHandler report();
  Task<> run(config::Config config);
  Task<> delete_lost(const config::Config& config);
  Task<> delete_lost_of(const config::ProviderSection& section, const config::Config& config);
  Task<> delete_those(driver::Provider& provider, const std::set<std::string>& lost);

  const Custody& custody_;
  const driver::DriverRegistry& drivers_;
  telemetry::Logger log_;
  model::NodeTable nodes_;
  model::ImageTable images_;
  async::ThreadPool threads_{1, "blocking calls"};
  async::TaskScope tables_;
  async::TaskScope scope_;
};

}  // namespace nodepool::simulation
