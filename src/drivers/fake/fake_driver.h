#pragma once

#include <memory>

#include "config/environment.h"
#include "driver/statemachine/state_machine_driver.h"
#include "drivers/fake/fake_cloud.h"

namespace nodepool::drivers::fake {

// `driver: fake`: simulated machines in a cloud in this process. See docs/drivers/fake.md.
class FakeDriver final : public driver::StateMachineDriver {
 public:
  // `environment`: for finding clouds.yaml, see openstack::find_cloud(). `clouds`: for tests, which
  // share them between launchers.
  explicit FakeDriver(config::Environment environment = config::process_environment(),
                      std::shared_ptr<FakeClouds> clouds = std::make_shared<FakeClouds>())
      : environment_(std::move(environment)), clouds_(std::move(clouds)) {}

  std::string_view name() const override { return "fake"; }
  const config::Schema& schema() const override;
  std::shared_ptr<const driver::ProviderConfig> configure(
      const config::ProviderSection& section, const config::Config& config) const override;
  std::set<std::string> files(const config::ProviderSection& section) const override;

 protected:
  std::unique_ptr<driver::Adapter> adapter(std::shared_ptr<const driver::ProviderConfig> config,
                                           driver::ProviderContext context) const override;
  std::unique_ptr<nodescan::Scanner> scanner(const driver::ProviderContext& context) const override;

 private:
  config::Environment environment_;
  std::shared_ptr<FakeClouds> clouds_;
};

}  // namespace nodepool::drivers::fake
