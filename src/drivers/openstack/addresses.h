#pragma once

#include <optional>
#include <string>
#include <vector>

#include "drivers/openstack/api/compute.h"
#include "drivers/openstack/api/network.h"
#include "drivers/openstack/clouds/cloud.h"
#include "drivers/openstack/topology.h"

namespace nodepool::drivers::openstack {

// The roles of a server's addresses. Empty: none of that kind.
struct AddressChoice {
  std::string public_ipv4;
  std::string public_ipv6;
  std::string private_ipv4;
  std::string interface_ip;  // to connect to

  friend bool operator==(const AddressChoice&, const AddressChoice&) = default;
};

// Chooses like openstacksdk, but takes the first of several addresses of a kind without testing
// which one is reachable.
AddressChoice choose_addresses(const Server& server, const Topology& topology, const Cloud& cloud,
                               bool host_has_ipv6);

// Whether the server needs a floating IP to be reachable, and can get one.
bool needs_floating_ip(const Server& server, const AddressChoice& choice, const Topology& topology,
                       const Cloud& cloud);

// The port and address to attach a floating IP to.
struct PortChoice {
  std::string port_id;
  std::string fixed_address;

  friend bool operator==(const PortChoice&, const PortChoice&) = default;
};

// Returns nothing if the server has no port. Throws CloudError(failed) if no port is suitable.
std::optional<PortChoice> choose_port(std::vector<Port> ports, const Topology& topology);

// Adds the floating IP to the server's addresses, unless it is there already.
void add_floating_ip(ServerAddresses& addresses, const FloatingIp& floating_ip);

// Whether a network interface of this host has a global IPv6 address.
bool host_has_ipv6();

}  // namespace nodepool::drivers::openstack
