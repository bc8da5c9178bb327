#pragma once

#include <optional>
#include <string>
#include <vector>

#include "driver/ownership.h"
#include "driver/statemachine/adapter.h"
#include "drivers/azure/bodies.h"
#include "drivers/azure/cloud_view.h"
#include "drivers/azure/config/azure_config.h"
#include "telemetry/log.h"

namespace nodepool::drivers::azure {

// The dependencies of launches and deletions of machines. All of them outlive these.
struct VmContext {
  async::Runtime runtime;
  const AzureConfig& config;
  ResourceManager& manager;
  CloudView& view;
  const driver::Ownership& ownership;
  telemetry::Logger log;
};

// Makes one machine, with its network interface, addresses and disk, by one call; see
// driver::Adapter::create().
class VmLaunch {
 public:
  // `steps` outlives it.
  VmLaunch(VmContext context, driver::CreateSpec spec, driver::LaunchSteps& steps);

  // Throws CloudError.
  async::Task<driver::Instance> run();

 private:
  async::Task<std::string> make();
  async::Task<std::optional<std::string>> find();
  async::Task<json::Json> image();
  async::Task<VirtualMachine> wait_for_machine();
  async::Task<> wait_for_addresses(VirtualMachine machine, driver::Instance& made);
  async::Task<bool> add_addresses(const VirtualMachine& machine, driver::Instance& made);
  async::Task<> fail(std::string problem);
  MachineRequest request() const;

  VmContext context_;
  driver::CreateSpec spec_;
  driver::LaunchSteps& steps_;
  driver::Metadata tags_;
  driver::PollWaiter awaited_;
  std::optional<LongOperation> operation_;  // of this run's call
};

// Converts a machine to driver::Instance, without addresses and resources.
driver::Instance describe(const VirtualMachine& machine);

}  // namespace nodepool::drivers::azure
