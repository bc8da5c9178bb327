#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>

#include "async/runtime.h"
#include "async/shared_result.h"
#include "cloud/by_id.h"
#include "driver/statemachine/boot_times.h"
#include "driver/statemachine/shared_poller.h"
#include "drivers/azure/api/resource_manager.h"

namespace nodepool::drivers::azure {

// A shared cache of what a resource group and its location have. All functions throw CloudError.
class CloudView {
 public:
  // `manager` outlives it.
  CloudView(const async::Runtime& runtime, ResourceManager& manager);

  using MachineIndex = cloud::ById<VirtualMachine, &VirtualMachine::name>;
  using Machines = driver::SharedPoller<MachineIndex>;
  // Launches and deletions wait for changes in it.
  Machines& machines() { return machines_; }
  // How long machines take to go, to schedule polls.
  driver::BootTimes& removal_times() { return removal_times_; }

  // Network interfaces, public addresses and disks of the group, at most so old.
  template <typename Thing>
  using Listing = std::shared_ptr<const std::vector<Thing>>;
  async::Task<Listing<NetworkPart>> interfaces(async::Duration age) { return interfaces_.get(age); }
  async::Task<Listing<NetworkPart>> addresses(async::Duration age) { return addresses_.get(age); }
  async::Task<Listing<ManagedDisk>> disks(async::Duration age) { return disks_.get(age); }
  async::Task<Listing<ArmResource>> images(async::Duration age) { return images_.get(age); }

  // A size of the location; nothing if it has none of this name.
  async::Task<std::optional<VmSize>> size(std::string name);
  // The limits of the location by name.
  using LimitsByName = std::map<std::string, double, std::less<>>;
  async::Task<std::shared_ptr<const LimitsByName>> limits() { return limits_.get(kLimitsAge); }
  // The id of the last image by name that meets the conditions; nothing if there is none.
  async::Task<std::optional<std::string>> image_id(GroupImageFilter filter);

  // Makes the resource group if it is missing.
  async::Task<> ensure_group();

  // Drops what is cached for long and has turned out to be wrong.
  void forget();

  // Call it after the last call of the other functions.
  async::Task<> stop();

 private:
  static constexpr async::Duration kLimitsAge = std::chrono::seconds(10);
  using SizesByName = std::map<std::string, VmSize, std::less<>>;  // names in lower case

  async::Task<SizesByName> ask_sizes();
  async::Task<LimitsByName> ask_limits();
  async::Task<bool> ask_group();

  ResourceManager& manager_;
  Machines machines_;
  driver::BootTimes removal_times_;
  async::SharedResult<std::vector<NetworkPart>> interfaces_;
  async::SharedResult<std::vector<NetworkPart>> addresses_;
  async::SharedResult<std::vector<ManagedDisk>> disks_;
  async::SharedResult<std::vector<ArmResource>> images_;
  async::SharedResult<SizesByName> sizes_;
  async::SharedResult<LimitsByName> limits_;
  async::SharedResult<bool> group_;
};

}  // namespace nodepool::drivers::azure
