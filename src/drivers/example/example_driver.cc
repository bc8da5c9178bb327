#include "drivers/example/example_driver.h"

#include "drivers/example/example_adapter.h"
#include "drivers/example/example_config.h"
#include "nodescan/imaginary_hosts.h"

namespace nodepool::drivers::example {

const config::Schema& ExampleDriver::schema() const {
  return example_schema();
}

std::shared_ptr<const driver::ProviderConfig> ExampleDriver::configure(
    const config::ProviderSection& section, const config::Config& config) const {
  return std::make_shared<ExampleConfig>(section, config);
}

driver::SimpleDriver::Cloud ExampleDriver::cloud(
    std::shared_ptr<const driver::ProviderConfig> config) const {
  auto example = std::dynamic_pointer_cast<const ExampleConfig>(config);
  driver::SimpleOptions options;
  options.tasks.calls_per_second = example->rate_limit();
  auto project = cloud_->project(example->region(), example->project());
  return {std::make_shared<ExampleAdapter>(std::move(example), std::move(project)), options};
}

// The machines are simulated, so there is no network to scan.
std::unique_ptr<nodescan::Scanner> ExampleDriver::scanner(
    const driver::ProviderContext& /*context*/) const {
  return std::make_unique<nodescan::ImaginaryHosts>(
      std::vector<std::string>{"ssh-ed25519 EXAMPLEKEY"});
}

}  // namespace nodepool::drivers::example
