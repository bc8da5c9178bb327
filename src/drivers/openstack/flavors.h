#pragma once

#include <vector>

#include "driver/resources.h"
#include "drivers/openstack/api/compute.h"
#include "drivers/openstack/api/volume.h"
#include "drivers/openstack/config/openstack_config.h"

namespace nodepool::drivers::openstack {

// The flavor for a label, of flavors that are sorted by memory and name: with `min-ram` the first
// one that has as much and whose name contains `flavor-name`; else the one with this name or id.
// nullptr if there is none.
const Flavor* choose_flavor(const std::vector<Flavor>& flavors, const OpenStackLabel& label);

// Which flavor the label wants, in words: "with at least 2048 MiB and `perf` in its name".
std::string describe_flavor(const OpenStackLabel& label);

// What a machine of the flavor takes.
driver::Resources instance_resources(const Flavor& flavor);

// What a server takes. One whose flavor is not known any more counts as an instance.
driver::Resources instance_resources(const Server& server, const std::vector<Flavor>& flavors,
                                     const std::vector<Volume>& volumes);

}  // namespace nodepool::drivers::openstack
