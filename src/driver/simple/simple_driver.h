#pragma once

#include <memory>

#include "driver/simple/simple_adapter.h"
#include "driver/simple/task_manager.h"
#include "driver/statemachine/state_machine_driver.h"

namespace nodepool::driver {

// Options of a simple driver.
struct SimpleOptions {
  TaskManager::Options tasks = {};
  // Between two polls of the listing, which all waiting machines of the provider share.
  async::Duration poll_interval = std::chrono::seconds(2);
  // How long listings may omit an existing machine: one that was just made, or in an incomplete
  // listing.
  async::Duration consistency_delay = std::chrono::seconds(30);
};

// Base of drivers for clouds with a blocking client. A driver implements name(), schema(),
// configure(), cloud() and a SimpleAdapter, whose calls go through a TaskManager. Retries,
// rollback, resuming after a crash, timeouts, host keys, quota and leaks are handled as for all
// state machine drivers.
//
// A machine is made in one step, and then polled in a shared listing. The attempt fails if the
// listing reports a failure, or omits the machine for the consistency delay.
class SimpleDriver : public StateMachineDriver {
 protected:
  struct Cloud {
    std::shared_ptr<SimpleAdapter> adapter;
    SimpleOptions options;
  };

  // Creates the adapter and options of a provider. `config` is what configure() returned.
  virtual Cloud cloud(std::shared_ptr<const ProviderConfig> config) const = 0;

 private:
  std::unique_ptr<Adapter> adapter(std::shared_ptr<const ProviderConfig> config,
                                   ProviderContext context) const final;
};

}  // namespace nodepool::driver
