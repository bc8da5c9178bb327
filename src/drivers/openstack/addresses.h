#pragma once

#include <optional>
#include <string>
#include <vector>

#include "drivers/openstack/api/compute.h"
#include "drivers/openstack/api/network.h"
#include "drivers/openstack/clouds/cloud.h"
#include "drivers/openstack/topology.h"

namespace nodepool::drivers::openstack {

// Which of a server's addresses is which. Empty: it has none of the kind.
struct AddressChoice {
  std::string public_ipv4;
  std::string public_ipv6;
  std::string private_ipv4;
  std::string interface_ip;  // where it is reached

  friend bool operator==(const AddressChoice&, const AddressChoice&) = default;
};

// Reference: openstacksdk, how it chooses; but the first of several addresses of a kind is taken
// without trying which of them answers.
AddressChoice choose_addresses(const Server& server, const Topology& topology, const Cloud& cloud,
                               bool host_has_ipv6);

// Whether the server cannot be reached but through a floating IP, and can get one.
bool needs_floating_ip(const Server& server, const AddressChoice& choice, const Topology& topology,
                       const Cloud& cloud);

// A port to attach a floating IP to, and which of its addresses.
struct PortChoice {
  std::string port_id;
  std::string fixed_address;

  friend bool operator==(const PortChoice&, const PortChoice&) = default;
};

// Nothing if the server has no port; throws CloudError(failed) if none of them will do.
std::optional<PortChoice> choose_port(std::vector<Port> ports, const Topology& topology);

// Adds the floating IP to the addresses of the server, which may not show it yet.
void add_floating_ip(ServerAddresses& addresses, const FloatingIp& floating_ip);

// Whether a network interface of this host has a global IPv6 address.
bool host_has_ipv6();

}  // namespace nodepool::drivers::openstack
