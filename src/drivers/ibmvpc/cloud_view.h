#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "async/runtime.h"
#include "async/shared_result.h"
#include "cloud/by_id.h"
#include "driver/resources.h"
#include "driver/statemachine/boot_times.h"
#include "driver/statemachine/shared_poller.h"
#include "drivers/ibmvpc/api/vpc_api.h"

namespace nodepool::drivers::ibmvpc {

// Between two polls of a listing.
inline constexpr async::Duration kPollInterval = std::chrono::seconds(2);
// How long listings may omit what has been made.
inline constexpr async::Duration kConsistencyDelay = std::chrono::seconds(30);

// How old VPCs, subnets, keys and profiles are at most when the cloud is described, and images
// always: a name can be moved to another image, and IBM does not refuse the earlier one.
inline constexpr async::Duration kCatalogAge = std::chrono::minutes(5);
// For launches: they use what they find, however old it is. After a refusal, they read it again.
inline constexpr async::Duration kAnyAge = async::Duration::max();

// What labels name in a region.
struct RegionNames {
  std::map<std::string, std::string, std::less<>> vpcs;             // ids by name
  std::map<std::string, std::string, std::less<>> keys;             // ids by name
  std::map<std::pair<std::string, std::string>, VpcThing> subnets;  // by VPC's id and name

  // nullptr if there is no such subnet. `vpc`: name.
  const VpcThing* subnet(const std::string& vpc, const std::string& name) const;
  // What the label names and the region lacks, as a sentence; nothing if it has all.
  std::optional<std::string> lack_of(const std::string& vpc, const VpcLabel& label) const;
};

// A shared cache of what a region has. All functions throw CloudError. Those with `max_age` answer
// from a list of that age; if it lacks what is looked for, from one of kCatalogAge at most.
class CloudView {
 public:
  // `api` outlives it.
  CloudView(const async::Runtime& runtime, VpcApi& api);

  using InstanceList = cloud::ById<VpcInstance>;
  using FloatingIpList = cloud::ById<VpcFloatingIp>;
  using Instances = driver::SharedPoller<InstanceList>;
  using FloatingIps = driver::SharedPoller<FloatingIpList>;

  // Launches and deletions wait for changes in these.
  Instances& instances() { return instances_; }
  FloatingIps& floating_ips() { return floating_ips_; }
  // How long instances take to go, and floating IPs to come and go, to schedule polls.
  driver::BootTimes& removal_times() { return removal_times_; }
  driver::BootTimes& ip_times() { return ip_times_; }
  driver::BootTimes& ip_removal_times() { return ip_removal_times_; }

  // The names in the region, with those of the label if it has them. `label` outlives the call.
  async::Task<std::shared_ptr<const RegionNames>> names(std::string vpc, const VpcLabel& label,
                                                        async::Duration max_age);
  // Nothing if there is no such profile.
  async::Task<std::optional<VpcProfile>> profile(std::string name, async::Duration max_age);
  // What an instance of the profile takes, with `ram` in GB. The profile may be unknown.
  async::Task<driver::Resources> taken_by(std::string profile);
  // The first image with the name or the properties; nothing if there is none.
  async::Task<std::optional<VpcImage>> image(VpcImageSource source);
  // The id of a resource group; makes it if it does not exist.
  async::Task<std::string> group(std::string name, async::Duration max_age);

  // What was configured by name may have been replaced: reads it again when it is needed.
  void forget_names();

  // Call it after the last call of the other functions.
  async::Task<> stop();

 private:
  using Profiles = std::map<std::string, VpcProfile, std::less<>>;  // by name
  using Groups = std::map<std::string, std::string, std::less<>>;   // ids by name
  using Images = std::vector<VpcImage>;

  async::Task<RegionNames> ask_names();
  async::Task<Profiles> ask_profiles();
  async::Task<Groups> ask_groups();
  async::Task<std::string> make_group(std::string name);

  async::Runtime runtime_;
  VpcApi& api_;
  Instances instances_;
  FloatingIps floating_ips_;
  driver::BootTimes removal_times_;
  driver::BootTimes ip_times_;
  driver::BootTimes ip_removal_times_;
  async::SharedResult<RegionNames> names_;
  async::SharedResult<Profiles> profiles_;
  async::SharedResult<Images> images_;
  async::SharedResult<Groups> groups_;
  std::map<std::string, async::SharedResult<std::string>> new_groups_;  // by name; they stay
};

}  // namespace nodepool::drivers::ibmvpc
