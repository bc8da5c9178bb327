#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cloud/account_driver.h"
#include "driver/ownership.h"
#include "driver/statemachine/adapter.h"
#include "drivers/azure/cloud_endpoint.h"
#include "drivers/azure/config/azure_config.h"
#include "drivers/azure/image_store.h"
#include "drivers/azure/vm_launch.h"

namespace nodepool::drivers::azure {

// The adapter for Microsoft Azure. docs/drivers/azure.md lists its calls.
class AzureAdapter final : public driver::Adapter {
 public:
  // `endpoint` is the endpoint of the configured account.
  AzureAdapter(const cloud::AdapterContext& context, std::shared_ptr<const AzureConfig> config,
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
  driver::CloudTraits traits() override;

 private:
  async::Task<driver::LabelDescription> describe_label(std::string pool, std::string label);
  async::Task<driver::Limits> limits();
  async::Task<std::vector<std::string>> missing();

  std::shared_ptr<const AzureConfig> config_;
  std::shared_ptr<CloudEndpoint> endpoint_;
  CloudEndpoint::Membership membership_;
  driver::Ownership ownership_;
  ResourceManager manager_;
  VmContext context_;
  ManagedImageStore images_;
};

}  // namespace nodepool::drivers::azure
