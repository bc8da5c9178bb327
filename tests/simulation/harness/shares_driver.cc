#include "tests/simulation/harness/shares_driver.h"

#include <utility>

#include "drivers/metastatic/metastatic_adapter.h"
#include "drivers/metastatic/metastatic_config.h"
#include "nodescan/imaginary_hosts.h"

namespace nodepool::simulation {

std::shared_ptr<const driver::ProviderConfig> SharesDriver::configure(
    const config::ProviderSection& section, const config::Config& config) const {
  auto provider = driver_.configure(section, config);
  known_.configured(world_.actor->number(), *provider);
  return provider;
}

std::unique_ptr<driver::Adapter> SharesDriver::adapter(
    std::shared_ptr<const driver::ProviderConfig> config, driver::ProviderContext context) const {
  return std::make_unique<drivers::metastatic::MetastaticAdapter>(
      std::dynamic_pointer_cast<const drivers::metastatic::MetastaticConfig>(std::move(config)),
      std::move(context));
}

std::unique_ptr<nodescan::Scanner> SharesDriver::scanner(
    const driver::ProviderContext& /*context*/) const {
  return std::make_unique<nodescan::ImaginaryHosts>(std::vector<std::string>{"ssh-rsa KEY"});
}

}  // namespace nodepool::simulation
