#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "config/environment.h"
#include "driver/statemachine/state_machine_config.h"
#include "drivers/openstack/clouds/cloud.h"

namespace nodepool::drivers::openstack {

// An existing image in the cloud. Either field is set.
struct CloudImageReference {
  std::string id;    // used without lookup
  std::string name;  // name or id, looked up

  friend bool operator==(const CloudImageReference&, const CloudImageReference&) = default;
};

// The settings of a label besides driver::MachineLabel.
struct OpenStackLabel {
  std::optional<CloudImageReference> cloud_image;  // nothing: the label has a diskimage
  std::int64_t min_ram = 0;                        // MiB; 0: not set
  std::optional<std::string> flavor_name;
  std::optional<std::string> key_name;
  bool boot_from_volume = false;
  std::int64_t volume_size = 50;  // GB
  bool config_drive = false;
  std::map<std::string, std::string> instance_properties;
  std::map<std::string, std::string> dynamic_instance_properties;  // with {request.…}
  std::optional<std::string> userdata;
  std::vector<std::string> networks;  // names or ids; empty: the cloud's default
};

// The settings of a pool besides driver::MachinePool.
struct OpenStackPool {
  bool auto_floating_ip = true;
  std::vector<std::string> security_groups;
  driver::ByName<OpenStackLabel> labels;
};

// The configuration of a provider with `driver: openstack`.
class OpenStackConfig final : public driver::StateMachineConfig {
 public:
  // `environment`: for finding clouds.yaml, see find_cloud(). Throws config::ConfigError.
  OpenStackConfig(const config::ProviderSection& section, const config::Config& config,
                  const config::Environment& environment);

  const Cloud& account() const { return cloud_; }  // and the services in its region
  const std::optional<std::string>& region_name() const { return region_name_; }
  double rate() const { return rate_; }  // calls of one service a second; 0: no limit
  async::Duration image_upload_timeout() const { return image_upload_timeout_; }
  bool clean_floating_ips() const { return clean_floating_ips_; }
  async::Duration port_cleanup_interval() const { return port_cleanup_interval_; }  // 0: off

  // Both throw std::out_of_range for an unknown pool or label.
  const OpenStackPool& pool(std::string_view pool) const {
    return driver::named(openstack_pools_, "pool", pool);
  }
  const OpenStackLabel& label(std::string_view pool, std::string_view label) const {
    return driver::named(this->pool(pool).labels, "label", label);
  }

  // Makes `problem` of the cloud's entry the outside_problem().
  void refuse_account(config::Problem problem) { outside_problem_ = std::move(problem); }

  // Also compares the cloud's entry in clouds.yaml.
  bool same_as(const driver::ProviderConfig& other) const override;

 private:
  struct Images;

  void load_provider(const config::Section& provider);
  Images load_images(const config::Section& provider, const config::Config& config);
  void warn_of_imports(const config::Section& image, const config::Config& config);
  void warn(const config::Section& section, const char* key, std::string message,
            std::string hint = {});
  void load_pool(const config::Section& section, const config::ProviderSection& provider,
                 const config::Config& config, const Images& images);
  void load_label(const config::Section& section, const config::Section& pool_section,
                  const config::Config& config, const Images& images,
                  driver::MachinePool& machine_pool, OpenStackPool& pool);

  Cloud cloud_;
  std::optional<std::string> region_name_;
  double rate_ = 1;
  async::Duration image_upload_timeout_{};
  bool clean_floating_ips_ = false;
  async::Duration port_cleanup_interval_{};
  driver::ByName<OpenStackPool> openstack_pools_;
};

}  // namespace nodepool::drivers::openstack
