#pragma once

#include <utility>

#include "config/environment.h"
#include "driver/statemachine/state_machine_driver.h"

namespace nodepool::drivers::openstack {

// `driver: openstack`: machines in an OpenStack cloud. See docs/drivers/openstack.md.
class OpenStackDriver final : public driver::StateMachineDriver {
 public:
  // `environment`: where clouds.yaml is, see find_cloud().
  explicit OpenStackDriver(config::Environment environment = config::process_environment())
      : environment_(std::move(environment)) {}

  std::string_view name() const override { return "openstack"; }
  const config::Schema& schema() const override;
  std::shared_ptr<const driver::ProviderConfig> configure(
      const config::ProviderSection& section, const config::Config& config) const override;
  std::set<std::string> files(const config::ProviderSection& section) const override;

 protected:
  std::unique_ptr<driver::Adapter> adapter(std::shared_ptr<const driver::ProviderConfig> config,
                                           driver::ProviderContext context) const override;

 private:
  config::Environment environment_;
};

}  // namespace nodepool::drivers::openstack
