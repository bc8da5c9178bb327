#pragma once

#include "config/environment.h"
#include "config/section.h"
#include "drivers/openstack/clouds/cloud.h"

namespace nodepool::drivers::openstack {

// The cloud that a provider section names by `cloud` and `region-name`, see find_cloud(). Throws
// config::OutsideError.
Cloud configured_cloud(const config::Section& provider, const config::Environment& environment);

}  // namespace nodepool::drivers::openstack
