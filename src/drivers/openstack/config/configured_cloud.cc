#include "drivers/openstack/config/configured_cloud.h"

#include "config/outside_error.h"
#include "drivers/openstack/clouds/cloud_files.h"

namespace nodepool::drivers::openstack {

Cloud configured_cloud(const config::Section& provider, const config::Environment& environment) {
  try {
    return find_cloud(provider.optional_text("cloud"), provider.optional_text("region-name"),
                      environment);
  } catch (const CloudsError& error) {
    throw config::OutsideError(provider.error("cloud", error.what()).problem());
  }
}

}  // namespace nodepool::drivers::openstack
