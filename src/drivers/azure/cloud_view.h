#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>

#include "async/runtime.h"
#include "async/shared_result.h"
#include "cloud/by_id.h"
#include "cloud/last_known.h"
#include "cloud/use_by_others.h"
#include "driver/resources.h"
#include "driver/statemachine/boot_times.h"
#include "driver/statemachine/shared_poller.h"
#include "drivers/azure/api/resource_manager.h"

namespace nodepool::drivers::azure {

// The quota of spot machines.
inline constexpr const char* kSpotCores = "lowPriorityCores";

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

  // Which machines are on, as it was at most driver::Adapter::kListingAge ago, by the machines' ids
  // in lower case. Empty if the credentials may not read it: that is for the whole subscription.
  using PowerStates = cloud::ById<PowerState>;
  async::Task<std::shared_ptr<const PowerStates>> power_states();

  // Network interfaces, public addresses, disks and images of the group, at most so old.
  using Interfaces = cloud::ById<NetworkInterface, &NetworkInterface::name>;
  using Addresses = cloud::ById<PublicAddress, &PublicAddress::name>;
  template <typename Things>
  using Listing = std::shared_ptr<const Things>;
  async::Task<Listing<Interfaces>> interfaces(async::Duration age) { return interfaces_.get(age); }
  async::Task<Listing<Addresses>> addresses(async::Duration age) { return addresses_.get(age); }
  async::Task<Listing<std::vector<ManagedDisk>>> disks(async::Duration age) {
    return disks_.get(age);
  }
  async::Task<Listing<std::vector<ArmResource>>> images(async::Duration age) {
    return images_.get(age);
  }

  // A size of the location, as it was at most so long ago; nothing if it had none of this name.
  async::Task<std::optional<VmSize>> size(std::string name, async::Duration age);
  // Whether Azure shows any size. Every location has sizes: none rather says that Azure does not
  // know the location by this name.
  async::Task<bool> has_sizes();
  // What a machine of the size takes; the size may be unknown. A spot machine has its own quota.
  async::Task<driver::Resources> taken_by(std::string size, bool is_spot);
  // The same for listings; by the last known sizes while Azure does not list them.
  async::Task<driver::Resources> known_taken_by(std::string size, bool is_spot);

  // The quotas of the location by name, less what other groups use of them.
  async::Task<std::shared_ptr<const driver::Limits>> limits() { return limits_.get(kLimitsAge); }
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
  async::Task<driver::Limits> ask_limits();
  async::Task<driver::Resources> counted_for_group();
  async::Task<PowerStates> ask_power_states();
  async::Task<bool> ask_group();

  ResourceManager& manager_;
  Machines machines_;
  driver::BootTimes removal_times_;
  async::SharedResult<PowerStates> power_states_;
  bool may_read_power_ = true;
  async::SharedResult<Interfaces> interfaces_;
  async::SharedResult<Addresses> addresses_;
  async::SharedResult<std::vector<ManagedDisk>> disks_;
  async::SharedResult<std::vector<ArmResource>> images_;
  async::SharedResult<SizesByName> sizes_;
  cloud::LastKnown<SizesByName> known_sizes_;
  async::SharedResult<driver::Limits> limits_;
  cloud::UseByOthers use_by_others_;
  async::SharedResult<bool> group_;
};

}  // namespace nodepool::drivers::azure
