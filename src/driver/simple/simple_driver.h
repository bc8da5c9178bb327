#pragma once

#include <memory>

#include "driver/simple/simple_adapter.h"
#include "driver/simple/task_manager.h"
#include "driver/statemachine/state_machine_driver.h"

namespace nodepool::driver {

// How a simple cloud is to be treated.
struct SimpleOptions {
  TaskManager::Options tasks = {};
  // How old a listing may be that tells whether machines run, or are gone. One listing serves all
  // machines of the provider that are waited for.
  async::Duration poll_interval = std::chrono::seconds(2);
  // How long listings may not show a machine that is there: one that has just been made, or because
  // a part of them is missing.
  async::Duration consistency_delay = std::chrono::seconds(30);
};

// A driver whose cloud has a blocking client: its author writes name(), schema(), configure(), and
// a SimpleAdapter. The calls of the adapter go through a TaskManager. Attempts, undoing, resuming
// after a crash, time limits, host keys, quota and leaks are those of all drivers on state
// machines.
//
// A machine is made in one step, and waited for in a listing that all share. It has failed when the
// listing says so, or does not show it any more.
class SimpleDriver : public StateMachineDriver {
 protected:
  struct Cloud {
    std::shared_ptr<SimpleAdapter> adapter;
    SimpleOptions options;
  };

  // `config` is what configure() returned. Called for each provider.
  virtual Cloud cloud(std::shared_ptr<const ProviderConfig> config) const = 0;

 private:
  std::unique_ptr<Adapter> adapter(std::shared_ptr<const ProviderConfig> config,
                                   ProviderContext context) const final;
};

}  // namespace nodepool::driver
