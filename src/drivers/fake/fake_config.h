#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "config/environment.h"
#include "config/schema.h"
#include "driver/statemachine/state_machine_config.h"
#include "drivers/fake/fake_behaviour.h"

namespace nodepool::drivers::fake {

// The schema of a provider section with `driver: fake`: the keys of the driver openstack, so that
// its configurations can be tested, and `fake-cloud`.
const config::Schema& fake_schema();

// The settings of a label besides driver::MachineLabel that affect a FakeCloud.
struct FakeLabel {
  std::optional<std::string> image_id;    // of a cloud image, used without lookup
  std::optional<std::string> image_name;  // of a cloud image, looked up
  std::int64_t min_ram = 0;               // MiB; 0: not set
  std::string flavor_name;                // empty: not set
  bool boot_from_volume = false;
  std::int64_t volume_size = 0;  // GB
  std::map<std::string, std::string> instance_properties;
  std::vector<std::string> networks;
};

// The configuration of a provider with `driver: fake`.
class FakeConfig final : public driver::StateMachineConfig {
 public:
  // `environment`: for finding clouds.yaml, which must contain the cloud. Throws
  // config::ConfigError.
  FakeConfig(const config::ProviderSection& section, const config::Config& config,
             const config::Environment& environment);

  const std::string& cloud_name() const { return cloud_name_; }    // see FakeClouds
  const std::string& cloud_entry() const { return cloud_entry_; }  // of clouds.yaml
  const std::optional<std::string>& region_name() const { return region_name_; }
  const FakeBehaviour& behaviour() const { return behaviour_; }

  // Throws std::out_of_range for an unknown pool or label.
  const FakeLabel& label(std::string_view pool, std::string_view label) const {
    return driver::of_label(labels_, pool, label);
  }

 private:
  struct Images;

  Images load_images(const config::Section& provider, const config::Config& config);
  void load_pool(const config::Section& section, const config::ProviderSection& provider,
                 const config::Config& config, const Images& images);

  std::string cloud_name_;
  std::string cloud_entry_;
  std::optional<std::string> region_name_;
  FakeBehaviour behaviour_;
  driver::ByLabel<FakeLabel> labels_;
};

}  // namespace nodepool::drivers::fake
