#pragma once

#include <set>
#include <string>
#include <string_view>

#include "cloud/account_driver.h"
#include "drivers/azure/azure_adapter.h"
#include "drivers/azure/cloud_endpoint.h"
#include "drivers/azure/config/azure_config.h"
#include "drivers/azure/config/azure_schema.h"

namespace nodepool::drivers::azure {

// `driver: azure`: machines in Microsoft Azure. See docs/drivers/azure.md.
class AzureDriver final : public cloud::AccountDriver<AzureConfig, CloudEndpoint, AzureAdapter> {
 public:
  using AccountDriver::AccountDriver;

  std::string_view name() const override { return "azure"; }
  const config::Schema& schema() const override { return azure_schema(); }

 private:
  std::set<std::string> account_files(const config::ProviderSection& section) const override {
    return credential_files(auth_path_of(section, environment()), environment());
  }
};

}  // namespace nodepool::drivers::azure
