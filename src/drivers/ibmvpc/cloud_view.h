#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "async/runtime.h"
#include "async/shared_result.h"
#include "cloud/by_id.h"
#include "driver/statemachine/boot_times.h"
#include "driver/statemachine/shared_poller.h"
#include "drivers/ibmvpc/api/vpc_api.h"

namespace nodepool::drivers::ibmvpc {

// Between two polls of a listing.
inline constexpr async::Duration kPollInterval = std::chrono::seconds(2);
// How long listings may omit what has been made.
inline constexpr async::Duration kConsistencyDelay = std::chrono::seconds(30);

// What changes rarely in a region.
struct RegionCatalog {
  std::map<std::string, std::string, std::less<>> vpcs;             // ids by name
  std::map<std::string, std::string, std::less<>> keys;             // ids by name
  std::map<std::pair<std::string, std::string>, VpcThing> subnets;  // by VPC's id and name
  std::map<std::string, VpcProfile, std::less<>> profiles;          // by name

  // nullptr if there is no such subnet. `vpc`: name.
  const VpcThing* subnet(const std::string& vpc, const std::string& name) const;
};

// A shared cache of what a region has. All functions throw CloudError.
class CloudView {
 public:
  // `api` outlives it.
  CloudView(const async::Runtime& runtime, VpcApi& api);

  using InstanceList = cloud::ById<VpcInstance>;
  using FloatingIpList = cloud::ById<VpcFloatingIp>;
  using Instances = driver::SharedPoller<InstanceList>;
  using FloatingIps = driver::SharedPoller<FloatingIpList>;
  using Catalog = std::shared_ptr<const RegionCatalog>;

  // Launches and deletions wait for changes in these.
  Instances& instances() { return instances_; }
  FloatingIps& floating_ips() { return floating_ips_; }
  // How long instances take to go, and floating IPs to come and go, to schedule polls.
  driver::BootTimes& removal_times() { return removal_times_; }
  driver::BootTimes& ip_times() { return ip_times_; }
  driver::BootTimes& ip_removal_times() { return ip_removal_times_; }

  // The catalog, read in the last five minutes.
  async::Task<Catalog> catalog() { return catalog_.get(kCatalogAge); }
  // The first image with the name or the properties; nothing if there is none.
  async::Task<std::optional<VpcImage>> image(VpcImageSource source);
  // The id of a resource group; makes it if it does not exist.
  async::Task<std::string> group(std::string name);

  // What was configured by name may have been replaced: reads it again when it is needed.
  void forget_names();

  // Call it after the last call of the other functions.
  async::Task<> stop();

 private:
  using Groups = std::map<std::string, std::string, std::less<>>;  // ids by name
  using Images = std::vector<VpcImage>;

  static constexpr async::Duration kCatalogAge = std::chrono::minutes(5);

  async::Task<RegionCatalog> ask_catalog();
  async::Task<Groups> ask_groups();

  VpcApi& api_;
  Instances instances_;
  FloatingIps floating_ips_;
  driver::BootTimes removal_times_;
  driver::BootTimes ip_times_;
  driver::BootTimes ip_removal_times_;
  async::SharedResult<RegionCatalog> catalog_;
  async::SharedResult<Images> images_;
  async::SharedResult<Groups> groups_;
};

}  // namespace nodepool::drivers::ibmvpc
