#pragma once

#include <memory>
#include <utility>

#include "cloud/endpoints.h"
#include "config/environment.h"
#include "driver/statemachine/state_machine_driver.h"
#include "drivers/azure/cloud_endpoint.h"

namespace nodepool::drivers::azure {

// `driver: azure`: machines in Microsoft Azure. See docs/drivers/azure.md.
class AzureDriver final : public driver::StateMachineDriver {
 public:
  // `environment`: for finding credentials, see find_subscription().
  explicit AzureDriver(config::Environment environment = config::process_environment())
      : environment_(std::move(environment)) {}

  std::string_view name() const override { return "azure"; }
  const config::Schema& schema() const override;
  std::shared_ptr<const driver::ProviderConfig> configure(
      const config::ProviderSection& section, const config::Config& config) const override;
  std::set<std::string> files(const config::ProviderSection& section) const override;

 protected:
  std::unique_ptr<driver::Adapter> adapter(std::shared_ptr<const driver::ProviderConfig> config,
                                           driver::ProviderContext context) const override;

 private:
  using Groups = cloud::Endpoints<AzureAccount, CloudEndpoint>;

  config::Environment environment_;
  std::shared_ptr<Groups> groups_ = std::make_shared<Groups>();
};

}  // namespace nodepool::drivers::azure
