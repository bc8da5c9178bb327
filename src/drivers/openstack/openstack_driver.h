#pragma once

#include "driver/statemachine/state_machine_driver.h"

namespace nodepool::drivers::openstack {

// `driver: openstack`: machines in an OpenStack cloud. See docs/drivers/openstack.md.
class OpenStackDriver final : public driver::StateMachineDriver {
 public:
  std::string_view name() const override { return "openstack"; }
  const config::Schema& schema() const override;
  std::shared_ptr<const driver::ProviderConfig> configure(
      const config::ProviderSection& section, const config::Config& config) const override;

 protected:
  std::unique_ptr<driver::Adapter> adapter(std::shared_ptr<const driver::ProviderConfig> config,
                                           driver::ProviderContext context) const override;
};

}  // namespace nodepool::drivers::openstack
