#pragma once

#include <memory>
#include <set>
#include <string>
#include <string_view>

#include "cloud/account_driver.h"
#include "drivers/openstack/cloud_endpoint.h"
#include "drivers/openstack/clouds/cloud_files.h"
#include "drivers/openstack/config/openstack_config.h"
#include "drivers/openstack/config/openstack_schema.h"
#include "drivers/openstack/openstack_adapter.h"

namespace nodepool::drivers::openstack {

// `driver: openstack`: servers in an OpenStack cloud. See docs/drivers/openstack.md.
class OpenStackDriver final
    : public cloud::AccountDriver<OpenStackConfig, CloudEndpoint, OpenStackAdapter> {
 public:
  using AccountDriver::AccountDriver;

  std::string_view name() const override { return "openstack"; }
  const config::Schema& schema() const override { return openstack_schema(); }
  std::shared_ptr<const driver::ProviderConfig> configure(
      const config::ProviderSection& section, const config::Config& config) const override;

 private:
  std::set<std::string> account_files(const config::ProviderSection& /*section*/) const override {
    return all_cloud_files(environment());
  }
};

}  // namespace nodepool::drivers::openstack
