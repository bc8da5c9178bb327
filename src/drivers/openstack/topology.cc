#include "drivers/openstack/topology.h"

#include <algorithm>
#include <set>

namespace nodepool::drivers::openstack {

namespace {

const NetworkRole* role_of(const Network& network, const Cloud& cloud) {
  const auto found = std::ranges::find_if(cloud.networks, [&network](const NetworkRole& role) {
    return role.name == network.name || role.name == network.id;
  });
  return found == cloud.networks.end() ? nullptr : &*found;
}

bool is_external(const Network& network, const NetworkRole* role) {
  if (role != nullptr) return role->routes_externally;
  return network.is_external || network.is_physical;
}

}  // namespace

const Network* Topology::find(std::string_view name_or_id) const {
  if (refusal) throw driver::CloudError(*refusal);
  const auto by_id = std::ranges::find(networks, name_or_id, &Network::id);
  if (by_id != networks.end()) return &*by_id;
  const auto by_name = std::ranges::find(networks, name_or_id, &Network::name);
  if (by_name == networks.end()) return nullptr;
  if (std::ranges::count(networks, name_or_id, &Network::name) > 1) {
    throw driver::CloudError(
        driver::CloudError::Kind::failed,
        "several networks have the name " + std::string(name_or_id) + ": configure an id instead");
  }
  return &*by_name;
}

Topology make_topology(std::vector<Network> networks, const std::vector<Subnet>& subnets,
                       const Cloud& cloud) {
  Topology topology;
  std::set<std::string> with_gateway;
  for (const Subnet& subnet : subnets) {
    if (subnet.has_gateway) with_gateway.insert(subnet.network_id);
  }
  const bool source_is_said =
      std::ranges::count(cloud.networks, true, &NetworkRole::nat_source) > 0;
  const bool destination_is_said =
      std::ranges::count(cloud.networks, true, &NetworkRole::nat_destination) > 0;
  for (const Network& network : networks) {
    const NetworkRole* role = role_of(network, cloud);
    (is_external(network, role) ? topology.external : topology.internal).push_back(network.name);

    const bool is_source =
        source_is_said ? role != nullptr && role->nat_source : network.is_external;
    if (is_source && !topology.floating_source) topology.floating_source = network;

    const bool is_destination = destination_is_said ? role != nullptr && role->nat_destination
                                                    : with_gateway.contains(network.id);
    if (is_destination) topology.nat_destination = network;

    if (role != nullptr && role->default_interface) topology.default_network = network;
  }
  topology.networks = std::move(networks);
  return topology;
}

}  // namespace nodepool::drivers::openstack
