#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cloud/account_driver.h"
#include "driver/ownership.h"
#include "driver/statemachine/adapter.h"
#include "drivers/gce/cloud_endpoint.h"
#include "drivers/gce/config/gce_config.h"
#include "drivers/gce/instance_launch.h"

namespace nodepool::drivers::gce {

// The adapter for Google Compute Engine. docs/drivers/gce.md lists its calls.
class GceAdapter final : public driver::Adapter {
 public:
  // `endpoint` is the endpoint of the configured account.
  GceAdapter(const cloud::AdapterContext& context, std::shared_ptr<const GceConfig> config,
             std::shared_ptr<CloudEndpoint> endpoint);

  async::Task<> stop() override;

  async::Task<driver::Instance> create(driver::CreateSpec spec,
                                       driver::LaunchSteps& steps) override;
  async::Task<> remove(model::Json external_id, driver::LaunchSteps& steps) override;
  async::Task<driver::MachineList> list() override;
  async::Task<bool> is_absent(model::Json external_id) override;
  async::Task<> remove_resource(driver::Resource resource) override;
  async::Task<driver::CloudDescription> describe(
      driver::CloudDescription::Purpose purpose) override;
  async::Task<std::optional<std::string>> diagnose(model::Json external_id,
                                                   bool wants_console) override;

 private:
  async::Task<driver::LabelDescription> describe_label(std::string pool, std::string label);
  async::Task<std::vector<std::string>> missing();
  async::Task<bool> is_foreign(std::string name);

  std::shared_ptr<const GceConfig> config_;
  std::shared_ptr<CloudEndpoint> endpoint_;
  CloudEndpoint::Membership membership_;
  driver::Ownership ownership_;
  ComputeEngine compute_;
  MachineContext context_;
};

}  // namespace nodepool::drivers::gce
