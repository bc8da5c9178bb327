#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "driver/driver.h"
#include "driver/images.h"

namespace nodepool::driver {

// What the framework needs to know of a label of a pool.
struct MachineLabel {
  std::string diskimage;    // the one that is uploaded to the provider; or
  std::string cloud_image;  // the name of the configuration's entry; empty: it has none
  ImageAccess access;
  bool host_key_checking = true;
  bool console_log = false;

  friend bool operator==(const MachineLabel&, const MachineLabel&) = default;
};

// … and of a pool, besides PoolConfig.
struct MachinePool {
  std::vector<std::string> zones;  // empty: Adapter::zones()
  bool use_internal_ip = false;
  std::map<std::string, MachineLabel, std::less<>> labels;

  friend bool operator==(const MachinePool&, const MachinePool&) = default;
};

// A provider of a driver on state machines. The driver's own class derives from this, fills in all
// of it, and adds what only the driver knows.
class StateMachineConfig : public ProviderConfig {
 public:
  std::int64_t launch_retries() const { return launch_retries_; }  // attempts in total, at least 1
  async::Duration launch_timeout() const { return launch_timeout_; }  // of each attempt
  async::Duration boot_timeout() const { return boot_timeout_; }      // for the host keys

  // Throw std::out_of_range for what is not configured.
  const MachinePool& machine_pool(std::string_view pool) const;
  const MachineLabel& machine_label(std::string_view pool, std::string_view label) const;

  bool same_as(const ProviderConfig& other) const override;

 protected:
  using ProviderConfig::ProviderConfig;

  // Reads `boot-timeout` and `launch-retries`; and `launch-timeout`.
  void load_boot_and_retries(const config::Section& provider);
  void load_launch_timeout(const config::Section& provider);

  std::int64_t launch_retries_ = 3;
  async::Duration launch_timeout_ = std::chrono::hours(1);
  async::Duration boot_timeout_ = std::chrono::minutes(1);
  std::map<std::string, MachinePool, std::less<>> machine_pools_;  // the keys of pools()
};

}  // namespace nodepool::driver
