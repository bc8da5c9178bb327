#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "driver/cloud_error.h"
#include "drivers/openstack/api/network.h"
#include "drivers/openstack/clouds/cloud.h"

namespace nodepool::drivers::openstack {

// The roles of a cloud's networks, according to the cloud and clouds.yaml. Classified like in
// openstacksdk.
struct Topology {
  std::vector<Network> networks;           // all visible ones
  std::vector<std::string> external;       // names of networks that are reachable from outside
  std::vector<std::string> internal;       // names of the others
  std::optional<Network> floating_source;  // source of floating IPs
  std::optional<Network> nat_destination;  // target of floating IPs
  std::optional<Network> default_network;  // its address is used to connect
  // Set if the cloud refuses to list its networks: nothing is known about them.
  std::optional<driver::CloudError> refusal;

  // The network with this name or id; nullptr if there is none. Throws CloudError(failed) if the
  // name is ambiguous, and the refusal.
  const Network* find(std::string_view name_or_id) const;
};

// Classifies the networks.
Topology make_topology(std::vector<Network> networks, const std::vector<Subnet>& subnets,
                       const Cloud& cloud);

}  // namespace nodepool::drivers::openstack
