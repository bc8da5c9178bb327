#pragma once

#include <string>

#include "config/schema.h"
#include "drivers/fake/fake_behaviour.h"
#include "drivers/openstack/config/openstack_config.h"

namespace nodepool::drivers::fake {

// The schema of a provider section with `driver: fake`: that of the driver openstack, and a key
// `fake-cloud`.
const config::Schema& fake_schema();

// A provider with `driver: fake`.
class FakeConfig final : public openstack::OpenStackConfig {
 public:
  // As OpenStackConfig.
  FakeConfig(const config::ProviderSection& section, const config::Config& config,
             const config::Environment& environment);

  const std::string& cloud_name() const { return cloud_name_; }  // see FakeClouds
  const FakeBehaviour& behaviour() const { return behaviour_; }

 private:
  std::string cloud_name_;
  FakeBehaviour behaviour_;
};

}  // namespace nodepool::drivers::fake
