#include "drivers/ibmvpc/ibmvpc_driver.h"

#include <optional>
#include <vector>

#include "drivers/ibmvpc/config/ibmvpc_config.h"
#include "drivers/ibmvpc/config/ibmvpc_schema.h"
#include "drivers/ibmvpc/ibmvpc_adapter.h"
#include "http/attempt_metrics.h"

namespace nodepool::drivers::ibmvpc {

const config::Schema& IbmVpcDriver::schema() const {
  return ibmvpc_schema();
}

std::shared_ptr<const driver::ProviderConfig> IbmVpcDriver::configure(
    const config::ProviderSection& section, const config::Config& config) const {
  return std::make_shared<IbmVpcConfig>(section, config, environment_);
}

std::set<std::string> IbmVpcDriver::files(const config::ProviderSection& section) const {
  const config::Value* named = section.value.find("credentials-file");
  std::optional<std::string> configured;
  if (named != nullptr && named->is_scalar() && !named->is_null()) configured = named->text();
  const std::vector<std::string> files = credentials_files(configured, environment_);
  return {files.begin(), files.end()};
}

std::unique_ptr<driver::Adapter> IbmVpcDriver::adapter(
    std::shared_ptr<const driver::ProviderConfig> config, driver::ProviderContext context) const {
  auto ibm = std::dynamic_pointer_cast<const IbmVpcConfig>(std::move(config));
  const telemetry::Logger log = context.log.child("driver.ibmvpc." + ibm->name());
  std::string name = ibm->name();
  auto endpoint = accounts_->find(context.runtime, ibm->account(), [&] {
    return std::make_shared<CloudEndpoint>(context.runtime, ibm->account(),
                                           context.log.child("driver.ibmvpc"));
  });
  return std::make_unique<IbmVpcAdapter>(context.runtime, std::move(ibm), std::move(endpoint),
                                         context.installation, context.threads, log,
                                         http::attempt_metrics(context.metrics, std::move(name)));
}

}  // namespace nodepool::drivers::ibmvpc
