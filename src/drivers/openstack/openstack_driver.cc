#include "drivers/openstack/openstack_driver.h"

#include "config/outside_error.h"
#include "drivers/openstack/api/auth_request.h"
#include "drivers/openstack/clouds/cloud_files.h"
#include "drivers/openstack/config/openstack_config.h"
#include "drivers/openstack/config/openstack_schema.h"
#include "drivers/openstack/openstack_adapter.h"
#include "http/attempt_metrics.h"

namespace nodepool::drivers::openstack {

const config::Schema& OpenStackDriver::schema() const {
  return openstack_schema();
}

std::shared_ptr<const driver::ProviderConfig> OpenStackDriver::configure(
    const config::ProviderSection& section, const config::Config& config) const {
  auto result = std::make_shared<OpenStackConfig>(section, config, environment_);
  try {
    token_url(result->cloud());
    auth_request(result->cloud());
  } catch (const CloudsError& error) {
    const config::Value* cloud = section.value.find("cloud");
    throw config::OutsideError({.file = section.file,
                                .mark = cloud == nullptr ? section.value.mark() : cloud->mark(),
                                .path = section.path + ".cloud",
                                .message = error.what()});
  }
  return result;
}

std::set<std::string> OpenStackDriver::files(const config::ProviderSection& /*section*/) const {
  return all_cloud_files(environment_);
}

std::unique_ptr<driver::Adapter> OpenStackDriver::adapter(
    std::shared_ptr<const driver::ProviderConfig> config, driver::ProviderContext context) const {
  auto openstack = std::dynamic_pointer_cast<const OpenStackConfig>(std::move(config));
  telemetry::Logger log = context.log.child("driver.openstack." + openstack->name());
  std::string name = openstack->name();
  auto endpoint = accounts_->find(context.runtime, openstack->cloud(), [&] {
    return std::make_shared<CloudEndpoint>(context.runtime, openstack->cloud(), PollPolicy(),
                                           context.log.child("driver.openstack"));
  });
  return std::make_unique<OpenStackAdapter>(
      context.runtime, std::move(openstack), std::move(endpoint), context.threads, std::move(log),
      http::attempt_metrics(context.metrics, std::move(name)));
}

}  // namespace nodepool::drivers::openstack
