#include "drivers/static_nodes/static_driver.h"

#include "drivers/static_nodes/static_config.h"
#include "drivers/static_nodes/static_provider.h"

namespace nodepool::drivers::static_nodes {

const config::Schema& StaticDriver::schema() const {
  return static_schema();
}

std::shared_ptr<const driver::ProviderConfig> StaticDriver::configure(
    const config::ProviderSection& section, const config::Config& config) const {
  return std::make_shared<StaticProviderConfig>(section, config);
}

std::unique_ptr<driver::Provider> StaticDriver::provider(
    std::shared_ptr<const driver::ProviderConfig> config, driver::ProviderContext context) const {
  auto scanner = make_scanner_(context);
  return std::make_unique<StaticProvider>(
      std::dynamic_pointer_cast<const StaticProviderConfig>(config), std::move(context),
      std::move(scanner));
}

}  // namespace nodepool::drivers::static_nodes
