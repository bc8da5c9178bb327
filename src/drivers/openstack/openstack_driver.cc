#include "drivers/openstack/openstack_driver.h"

#include "drivers/openstack/api/auth_request.h"

namespace nodepool::drivers::openstack {

std::shared_ptr<const driver::ProviderConfig> OpenStackDriver::configure(
    const config::ProviderSection& section, const config::Config& config) const {
  auto result = std::make_shared<OpenStackConfig>(section, config, environment());
  if (result->outside_problem()) return result;
  try {
    check_credentials(result->account());
  } catch (const CloudsError& error) {
    const config::Value* cloud = section.value.find("cloud");
    result->refuse_account({.file = section.file,
                            .mark = cloud == nullptr ? section.value.mark() : cloud->mark(),
                            .path = section.path + ".cloud",
                            .message = error.what()});
  }
  return result;
}

}  // namespace nodepool::drivers::openstack
