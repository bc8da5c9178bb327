#pragma once

#include <set>
#include <string>
#include <string_view>

#include "cloud/account_driver.h"
#include "drivers/ibmvpc/cloud_endpoint.h"
#include "drivers/ibmvpc/config/ibmvpc_config.h"
#include "drivers/ibmvpc/config/ibmvpc_schema.h"
#include "drivers/ibmvpc/ibmvpc_adapter.h"

namespace nodepool::drivers::ibmvpc {

// `driver: ibmvpc`: instances in IBM Cloud VPC. See docs/drivers/ibmvpc.md.
class IbmVpcDriver final : public cloud::AccountDriver<IbmVpcConfig, CloudEndpoint, IbmVpcAdapter> {
 public:
  using AccountDriver::AccountDriver;

  std::string_view name() const override { return "ibmvpc"; }
  const config::Schema& schema() const override { return ibmvpc_schema(); }

 private:
  std::set<std::string> account_files(const config::ProviderSection& section) const override {
    return credential_files(section, environment());
  }
};

}  // namespace nodepool::drivers::ibmvpc
