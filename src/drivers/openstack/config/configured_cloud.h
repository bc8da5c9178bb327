#pragma once

#include "config/environment.h"
#include "config/section.h"
#include "drivers/openstack/clouds/cloud.h"

namespace nodepool::drivers::openstack {

// Reads the cloud selected by `cloud` and `region-name` of a provider section; see find_cloud().
// Throws config::OutsideError.
Cloud configured_cloud(const config::Section& provider, const config::Environment& environment);

}  // namespace nodepool::drivers::openstack
