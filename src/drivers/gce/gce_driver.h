#pragma once

#include <set>
#include <string>
#include <string_view>

#include "cloud/account_driver.h"
#include "drivers/gce/cloud_endpoint.h"
#include "drivers/gce/config/gce_config.h"
#include "drivers/gce/config/gce_schema.h"
#include "drivers/gce/gce_adapter.h"

namespace nodepool::drivers::gce {

// `driver: gce`: instances in Google Compute Engine. See docs/drivers/gce.md.
class GceDriver final : public cloud::AccountDriver<GceConfig, CloudEndpoint, GceAdapter> {
 public:
  using AccountDriver::AccountDriver;

  std::string_view name() const override { return "gce"; }
  const config::Schema& schema() const override { return gce_schema(); }

 private:
  std::set<std::string> account_files(const config::ProviderSection& /*section*/) const override {
    return credential_files(environment());
  }
};

}  // namespace nodepool::drivers::gce
