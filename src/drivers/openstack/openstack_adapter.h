#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cloud/account_driver.h"
#include "driver/statemachine/adapter.h"
#include "drivers/openstack/cloud_endpoint.h"
#include "drivers/openstack/cloud_view.h"
#include "drivers/openstack/config/openstack_config.h"
#include "drivers/openstack/image_store.h"
#include "drivers/openstack/leftovers.h"
#include "drivers/openstack/poll_policy.h"

namespace nodepool::drivers::openstack {

// The adapter for OpenStack clouds. docs/drivers/openstack.md lists its calls.
class OpenStackAdapter final : public driver::Adapter {
 public:
  // `endpoint` is the endpoint of the configured account.
  OpenStackAdapter(const cloud::AdapterContext& context,
                   std::shared_ptr<const OpenStackConfig> config,
                   std::shared_ptr<CloudEndpoint> endpoint);

  async::Task<> stop() override;

  async::Task<driver::Instance> create(driver::CreateSpec spec,
                                       driver::LaunchSteps& steps) override;
  async::Task<> remove(model::Json external_id, driver::LaunchSteps& steps) override;
  async::Task<driver::MachineList> list() override;
  async::Task<std::vector<driver::Resource>> other_resources() override;
  async::Task<> remove_resource(driver::Resource resource) override;
  async::Task<driver::CloudDescription> describe(
      driver::CloudDescription::Purpose purpose) override;
  async::Task<std::optional<std::string>> diagnose(model::Json external_id,
                                                   bool wants_console) override;
  driver::CloudTraits traits() override {
    return {.images = &images_, .consistency_delay = endpoint_->poll_policy().consistency_delay};
  }

 private:
  async::Task<driver::Limits> limits();
  async::Task<driver::LabelDescription> describe_label(std::string pool, std::string label);
  async::Task<std::vector<std::string>> missing(std::vector<std::string> zones);

  std::shared_ptr<const OpenStackConfig> config_;
  std::shared_ptr<CloudEndpoint> endpoint_;
  CloudEndpoint::Membership membership_;
  CloudApi api_;
  CloudView& view_;
  ServerContext context_;
  GlanceImages images_;
  Leftovers leftovers_;
};

}  // namespace nodepool::drivers::openstack
