#pragma once

#include <memory>

#include "driver/simple/simple_driver.h"
#include "drivers/example/example_cloud.h"

namespace nodepool::drivers::example {

// `driver: example`: the example for driver authors. See docs/drivers/writing-a-driver.md.
class ExampleDriver final : public driver::SimpleDriver {
 public:
  // The driver owns the simulated cloud, so that it survives changes of the configuration.
  explicit ExampleDriver(
      std::shared_ptr<sample_cloud::Cloud> cloud = std::make_shared<sample_cloud::Cloud>())
      : cloud_(std::move(cloud)) {}

  std::string_view name() const override { return "example"; }
  const config::Schema& schema() const override;
  std::shared_ptr<const driver::ProviderConfig> configure(
      const config::ProviderSection& section, const config::Config& config) const override;

  // Not needed in a driver for a real cloud.
  std::unique_ptr<nodescan::Scanner> scanner(const driver::ProviderContext& context) const override;

 protected:
  Cloud cloud(std::shared_ptr<const driver::ProviderConfig> config) const override;

 private:
  std::shared_ptr<sample_cloud::Cloud> cloud_;
};

}  // namespace nodepool::drivers::example
