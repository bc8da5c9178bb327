#include "drivers/gce/gce_driver.h"

#include "drivers/gce/config/gce_config.h"
#include "drivers/gce/config/gce_schema.h"
#include "drivers/gce/gce_adapter.h"
#include "http/attempt_metrics.h"

namespace nodepool::drivers::gce {

const config::Schema& GceDriver::schema() const {
  return gce_schema();
}

std::shared_ptr<const driver::ProviderConfig> GceDriver::configure(
    const config::ProviderSection& section, const config::Config& config) const {
  return std::make_shared<GceConfig>(section, config, environment_);
}

std::set<std::string> GceDriver::files(const config::ProviderSection& /*section*/) const {
  return credential_files(environment_);
}

std::unique_ptr<driver::Adapter> GceDriver::adapter(
    std::shared_ptr<const driver::ProviderConfig> config, driver::ProviderContext context) const {
  auto gce = std::dynamic_pointer_cast<const GceConfig>(std::move(config));
  const telemetry::Logger log = context.log.child("driver.gce." + gce->name());
  std::string name = gce->name();
  auto endpoint = accounts_->find(context.runtime, gce->account(), [&] {
    return std::make_shared<CloudEndpoint>(context.runtime, gce->account(),
                                           context.log.child("driver.gce"));
  });
  return std::make_unique<GceAdapter>(context.runtime, std::move(gce), std::move(endpoint),
                                      context.installation, log,
                                      http::attempt_metrics(context.metrics, std::move(name)));
}

}  // namespace nodepool::drivers::gce
