#pragma once

#include <vector>

#include "cloud/by_id.h"
#include "driver/resources.h"
#include "drivers/openstack/api/compute.h"
#include "drivers/openstack/api/volume.h"
#include "drivers/openstack/config/openstack_config.h"

namespace nodepool::drivers::openstack {

// The flavor for a label. `flavors` are sorted by memory and name. With `min-ram`, returns the
// first one that has enough memory and whose name contains `flavor-name`; otherwise the one with
// this name or id. nullptr if there is none.
const Flavor* choose_flavor(const std::vector<Flavor>& flavors, const OpenStackLabel& label);

// The label's requirement for messages: "with at least 2048 MiB and `perf` in its name".
std::string describe_flavor(const OpenStackLabel& label);

// The resources that a server with this flavor takes.
driver::Resources instance_resources(const Flavor& flavor);

// The resources that a server takes. If its flavor no longer exists, one instance.
driver::Resources instance_resources(const Server& server, const cloud::ById<Flavor>& flavors,
                                     const cloud::ById<Volume>& volumes);

}  // namespace nodepool::drivers::openstack
