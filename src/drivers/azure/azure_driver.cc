#include "drivers/azure/azure_driver.h"

#include "drivers/azure/azure_adapter.h"
#include "drivers/azure/config/azure_config.h"
#include "drivers/azure/config/azure_schema.h"
#include "http/attempt_metrics.h"

namespace nodepool::drivers::azure {

const config::Schema& AzureDriver::schema() const {
  return azure_schema();
}

std::shared_ptr<const driver::ProviderConfig> AzureDriver::configure(
    const config::ProviderSection& section, const config::Config& config) const {
  return std::make_shared<AzureConfig>(section, config, environment_);
}

std::set<std::string> AzureDriver::files(const config::ProviderSection& section) const {
  return credential_files(auth_path_of(section, environment_), environment_);
}

std::unique_ptr<driver::Adapter> AzureDriver::adapter(
    std::shared_ptr<const driver::ProviderConfig> config, driver::ProviderContext context) const {
  auto azure = std::dynamic_pointer_cast<const AzureConfig>(std::move(config));
  const telemetry::Logger log = context.log.child("driver.azure." + azure->name());
  std::string name = azure->name();
  auto endpoint = groups_->find(context.runtime, azure->account(), [&] {
    return std::make_shared<CloudEndpoint>(context.runtime, azure->account(),
                                           context.log.child("driver.azure"));
  });
  return std::make_unique<AzureAdapter>(context.runtime, std::move(azure), std::move(endpoint),
                                        context.installation, context.threads, log,
                                        http::attempt_metrics(context.metrics, std::move(name)));
}

}  // namespace nodepool::drivers::azure
