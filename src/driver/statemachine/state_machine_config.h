#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "driver/driver.h"
#include "driver/images.h"

namespace nodepool::driver {

// The settings of a label that StateMachineProvider uses.
struct MachineLabel {
  std::string diskimage;    // empty: the label has a cloud image or none
  std::string cloud_image;  // name of the cloud image's entry; empty: none
  ImageAccess access;
  bool host_key_checking = true;
  bool console_log = false;

  friend bool operator==(const MachineLabel&, const MachineLabel&) = default;
};

// The settings of a pool that StateMachineProvider uses, besides PoolConfig.
struct MachinePool {
  std::vector<std::string> zones;  // empty: those of CloudDescription
  bool use_internal_ip = false;
  std::map<std::string, MachineLabel, std::less<>> labels;

  friend bool operator==(const MachinePool&, const MachinePool&) = default;
};

// Settings by name, and by pool and label.
template <typename Settings>
using ByName = std::map<std::string, Settings, std::less<>>;
template <typename Settings>
using ByLabel = ByName<ByName<Settings>>;

// The settings of this name. Throws std::out_of_range, such as "no pool main" for the `what`
// "pool".
template <typename Settings>
const Settings& named(const ByName<Settings>& all, std::string_view what, std::string_view name) {
  const auto found = all.find(name);
  if (found != all.end()) return found->second;
  throw std::out_of_range("no " + std::string(what) + " " + std::string(name));
}

// The settings of a label. Throws std::out_of_range.
template <typename Settings>
const Settings& of_label(const ByLabel<Settings>& all, std::string_view pool,
                         std::string_view label) {
  return named(named(all, "pool", pool), "label", label);
}

// The configuration of a provider of a state machine driver. The driver's class derives from it,
// fills in its members and adds its own.
class StateMachineConfig : public ProviderConfig {
 public:
  std::int64_t launch_retries() const { return launch_retries_; }     // total attempts, at least 1
  async::Duration launch_timeout() const { return launch_timeout_; }  // of each attempt
  async::Duration boot_timeout() const { return boot_timeout_; }      // for the host keys

  // Both throw std::out_of_range for an unknown pool or label.
  const MachinePool& machine_pool(std::string_view pool) const {
    return named(machine_pools_, "pool", pool);
  }
  const MachineLabel& machine_label(std::string_view pool, std::string_view label) const {
    return named(machine_pool(pool).labels, "label", label);
  }

  bool same_as(const ProviderConfig& other) const override;
  Offer offer() const override;

 protected:
  using ProviderConfig::ProviderConfig;

  // Read `boot-timeout` and `launch-retries`, and `launch-timeout`.
  void load_boot_and_retries(const config::Section& provider);
  void load_launch_timeout(const config::Section& provider);

  // Adds a pool, with the labels of `machines`.
  void add_pool(PoolConfig pool, MachinePool machines);

  std::int64_t launch_retries_ = 3;
  async::Duration launch_timeout_ = std::chrono::hours(1);
  async::Duration boot_timeout_ = std::chrono::minutes(1);
  ByName<MachinePool> machine_pools_;  // the keys of pools()
};

}  // namespace nodepool::driver
