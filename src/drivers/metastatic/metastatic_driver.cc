#include "drivers/metastatic/metastatic_driver.h"

#include "drivers/metastatic/metastatic_adapter.h"
#include "drivers/metastatic/metastatic_config.h"

namespace nodepool::drivers::metastatic {

const config::Schema& MetastaticDriver::schema() const {
  return metastatic_schema();
}

std::shared_ptr<const driver::ProviderConfig> MetastaticDriver::configure(
    const config::ProviderSection& section, const config::Config& config) const {
  return std::make_shared<MetastaticConfig>(section, config);
}

std::unique_ptr<driver::Adapter> MetastaticDriver::adapter(
    std::shared_ptr<const driver::ProviderConfig> config, driver::ProviderContext context) const {
  return std::make_unique<MetastaticAdapter>(
      std::dynamic_pointer_cast<const MetastaticConfig>(std::move(config)), std::move(context));
}

}  // namespace nodepool::drivers::metastatic
