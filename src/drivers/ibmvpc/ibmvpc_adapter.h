#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cloud/account_driver.h"
#include "driver/ownership.h"
#include "driver/statemachine/adapter.h"
#include "drivers/ibmvpc/cloud_endpoint.h"
#include "drivers/ibmvpc/config/ibmvpc_config.h"
#include "drivers/ibmvpc/image_store.h"
#include "drivers/ibmvpc/instance_launch.h"

namespace nodepool::drivers::ibmvpc {

// The adapter for IBM Cloud VPC. docs/drivers/ibmvpc.md lists its calls.
class IbmVpcAdapter final : public driver::Adapter {
 public:
  // `endpoint` is the endpoint of the configured account.
  IbmVpcAdapter(const cloud::AdapterContext& context, std::shared_ptr<const IbmVpcConfig> config,
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
  driver::CloudTraits traits() override { return {.images = &images_}; }

 private:
  async::Task<driver::LabelDescription> describe_label(std::string pool, std::string label);

  std::shared_ptr<const IbmVpcConfig> config_;
  std::shared_ptr<CloudEndpoint> endpoint_;
  CloudEndpoint::Membership membership_;
  driver::Ownership ownership_;
  VpcApi api_;
  VpcContext context_;
  ImportedImages images_;
};

}  // namespace nodepool::drivers::ibmvpc
