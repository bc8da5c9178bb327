#pragma once

#include <map>
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

// Makes one machine with its addresses and its network interface; see driver::Adapter::create().
// Each has a name that is derived from the node's, and the owner tags.
class VmLaunch {
 public:
  // `steps` outlives it.
  VmLaunch(VmContext context, driver::CreateSpec spec, driver::LaunchSteps& steps);

  // Throws CloudError.
  async::Task<driver::Instance> run();

 private:
  // A resource to make.
  struct Part {
    ResourceType type;
    std::string name;
    json::Json body;
    std::vector<std::string> secrets = {};
  };

  async::Task<> make(std::string step, Part part);
  async::Task<std::string> put(Part part);
  async::Task<std::optional<std::string>> find(ResourceType type, std::string name);
  async::Task<> refuse_foreign();
  async::Task<NetworkPart> make_address(bool is_ipv6);
  async::Task<NetworkPart> wait_for(ResourceType type, std::string name);
  async::Task<std::string> make_machine(std::string interface_id);
  async::Task<VirtualMachine> wait_for_machine();
  async::Task<json::Json> image();
  async::Task<> fail(std::string name, std::string problem);
  MachineRequest request() const;

  VmContext context_;
  driver::CreateSpec spec_;
  driver::LaunchSteps& steps_;
  driver::Metadata tags_;
  driver::PollWaiter awaited_;
  bool has_checked_ = false;  // that the machine's name is free
  // By name, of this run's calls: what was complete at once, and why a resource has failed.
  std::map<std::string, NetworkPart> made_;
  std::map<std::string, LongOperation> operations_;
};

// Converts a machine to driver::Instance, without addresses and resources.
driver::Instance describe(const VirtualMachine& machine);

// What a machine of the size takes; `size` may be unknown. A spot machine has its own quota.
driver::Resources resources_of(const std::optional<VmSize>& size, bool is_spot);
// The quota of spot machines.
inline constexpr const char* kSpotCores = "lowPriorityCores";

}  // namespace nodepool::drivers::azure
