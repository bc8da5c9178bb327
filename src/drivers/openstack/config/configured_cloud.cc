#include "drivers/openstack/config/configured_cloud.h"

#include "config/outside_error.h"
#include "drivers/openstack/clouds/cloud_files.h"

namespace nodepool::drivers::openstack {

Cloud configured_cloud(const config::Section& provider, const config::Environment& environment) {
  const std::optional<std::string> cloud = provider.optional_text("cloud");
  const std::optional<std::string> region = provider.optional_text("region-name");
  try {
    return find_cloud(cloud, region, environment);
  } catch (const CloudsError& error) {
    throw config::OutsideError(provider.error("cloud", error.what()).problem());
  } catch (const config::ConfigError& error) {
    throw config::OutsideError(error.problem());
  }
}

}  // namespace nodepool::drivers::openstack
