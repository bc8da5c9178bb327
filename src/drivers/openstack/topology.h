#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "drivers/openstack/api/network.h"
#include "drivers/openstack/clouds/cloud.h"

namespace nodepool::drivers::openstack {

// What the networks of a cloud are good for, as the cloud shows it and clouds.yaml says. Reference:
// openstacksdk, how it classifies networks.
struct Topology {
  std::vector<Network> networks;      // all that are visible
  std::vector<std::string> external;  // names of those whose addresses are reached from outside
  std::vector<std::string> internal;  // … and of the others
  std::optional<Network> floating_source;  // floating IPs come from it
  std::optional<Network> nat_destination;  // floating IPs lead to it
  std::optional<Network> default_network;  // its address is the one to use

  // The network with this name or id. Throws CloudError(failed) if several have the name; nullptr
  // if there is none.
  const Network* find(std::string_view name_or_id) const;
};

Topology make_topology(std::vector<Network> networks, const std::vector<Subnet>& subnets,
                       const Cloud& cloud);

}  // namespace nodepool::drivers::openstack
