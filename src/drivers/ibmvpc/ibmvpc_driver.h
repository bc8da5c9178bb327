#pragma once

#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include "cloud/endpoints.h"
#include "config/environment.h"
#include "driver/statemachine/state_machine_driver.h"
#include "drivers/ibmvpc/cloud_endpoint.h"

namespace nodepool::drivers::ibmvpc {

// `driver: ibmvpc`: instances in IBM Cloud VPC. See docs/drivers/ibmvpc.md.
class IbmVpcDriver final : public driver::StateMachineDriver {
 public:
  // `environment`: for finding credentials, see find_credentials().
  explicit IbmVpcDriver(config::Environment environment = config::process_environment())
      : environment_(std::move(environment)) {}

  std::string_view name() const override { return "ibmvpc"; }
  const config::Schema& schema() const override;
  std::shared_ptr<const driver::ProviderConfig> configure(
      const config::ProviderSection& section, const config::Config& config) const override;
  std::set<std::string> files(const config::ProviderSection& section) const override;

 protected:
  std::unique_ptr<driver::Adapter> adapter(std::shared_ptr<const driver::ProviderConfig> config,
                                           driver::ProviderContext context) const override;

 private:
  using Accounts = cloud::Endpoints<VpcAccount, CloudEndpoint>;

  config::Environment environment_;
  std::shared_ptr<Accounts> accounts_ = std::make_shared<Accounts>();
};

}  // namespace nodepool::drivers::ibmvpc
