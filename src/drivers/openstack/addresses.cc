#include "drivers/openstack/addresses.h"

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <netinet/in.h>

#include <algorithm>
#include <cstring>
#include <functional>
#include <memory>
#include <string_view>

#include "driver/cloud_error.h"

namespace nodepool::drivers::openstack {

namespace {

// A filter for addresses. Empty fields match all.
struct Wanted {
  std::string_view network = {};
  std::string_view type = {};
  std::string_view mac = {};
  int version = 4;
};

// The first match; empty if there is none.
std::string first(const ServerAddresses& addresses, const Wanted& wanted) {
  for (const auto& [network, entries] : addresses) {
    if (!wanted.network.empty() && network != wanted.network) continue;
    for (const ServerAddress& entry : entries) {
      if (entry.version == wanted.version && (wanted.type.empty() || entry.type == wanted.type) &&
          (wanted.mac.empty() || entry.mac == wanted.mac)) {
        return entry.address;
      }
    }
  }
  return {};
}

const ServerAddress* floating(const ServerAddresses& addresses) {
  for (const auto& [network, entries] : addresses) {
    const auto found = std::ranges::find(entries, "floating", &ServerAddress::type);
    if (found != entries.end()) return &*found;
  }
  return nullptr;
}

// Whether the IPv4 address is in no special-purpose network (RFC 6890), except 100.64.0.0/10:
// openstacksdk and Python's `is_private` do not count these addresses as private.
bool is_global(const std::string& text) {
  struct Prefix {
    std::uint32_t address;
    int length;
  };
  constexpr Prefix kSpecial[] = {{0x00000000, 8},  {0x0a000000, 8},  {0x7f000000, 8},
                                 {0xa9fe0000, 16}, {0xac100000, 12}, {0xc0000000, 29},
                                 {0xc0000200, 24}, {0xc0a80000, 16}, {0xc6120000, 15},
                                 {0xc6336400, 24}, {0xcb007100, 24}, {0xf0000000, 4}};
  in_addr parsed{};
  if (::inet_pton(AF_INET, text.c_str(), &parsed) != 1) return false;
  const std::uint32_t address = ntohl(parsed.s_addr);
  return std::ranges::none_of(kSpecial, [address](const Prefix& prefix) {
    return ((address ^ prefix.address) >> (32 - prefix.length)) == 0;
  });
}

std::string first_global(const ServerAddresses& addresses) {
  for (const auto& [network, entries] : addresses) {
    for (const ServerAddress& entry : entries) {
      if (entry.version == 4 && is_global(entry.address)) return entry.address;
    }
  }
  return {};
}

std::string public_ipv4(const Server& server, const Topology& topology, const Cloud& cloud) {
  if (!cloud.use_external_network) return {};
  if (!server.access_ipv4.empty()) return server.access_ipv4;
  for (const std::string& network : topology.external) {
    const std::string found = first(server.addresses, {.network = network});
    if (!found.empty()) return found;
  }
  for (const Wanted& wanted : {Wanted{.type = "floating"}, Wanted{.network = "public"}}) {
    const std::string found = first(server.addresses, wanted);
    if (!found.empty()) return found;
  }
  return first_global(server.addresses);
}

std::string public_ipv6(const Server& server, const Cloud& cloud) {
  if (cloud.force_ipv4) return {};
  return server.access_ipv6.empty() ? first(server.addresses, {.version = 6}) : server.access_ipv6;
}

// The fixed address; if there is a floating IP, the one that it is attached to.
std::string private_ipv4(const Server& server, const Topology& topology, const Cloud& cloud) {
  if (!cloud.use_internal_network) return {};
  const ServerAddress* outside = floating(server.addresses);
  const std::string mac = outside == nullptr ? std::string() : outside->mac;
  for (const std::string_view type : {"fixed", ""}) {
    for (const std::string& network : topology.internal) {
      const std::string found =
          first(server.addresses, {.network = network, .type = type, .mac = mac});
      if (!found.empty()) return found;
    }
  }
  const std::string found =
      first(server.addresses, {.network = "private", .type = "fixed", .mac = mac});
  return found.empty() ? first(server.addresses, {.network = "private"}) : found;
}

std::string interface_ip(const Server& server, const AddressChoice& choice,
                         const Topology& topology, const Cloud& cloud, bool has_ipv6) {
  if (topology.default_network) {
    const std::string& network = topology.default_network->name;
    std::string found;
    if (has_ipv6) found = first(server.addresses, {.network = network, .version = 6});
    if (found.empty()) found = first(server.addresses, {.network = network});
    if (!found.empty()) return found;
  }
  if (cloud.is_private && !choice.private_ipv4.empty()) return choice.private_ipv4;
  return has_ipv6 && !choice.public_ipv6.empty() ? choice.public_ipv6 : choice.public_ipv4;
}

std::string ipv4_of(const Port& port) {
  const auto found = std::ranges::find_if(port.addresses, [](const std::string& address) {
    in_addr parsed{};
    return ::inet_pton(AF_INET, address.c_str(), &parsed) == 1;
  });
  return found == port.addresses.end() ? std::string() : *found;
}

}  // namespace

AddressChoice choose_addresses(const Server& server, const Topology& topology, const Cloud& cloud,
                               bool host_has_ipv6) {
  AddressChoice choice;
  choice.public_ipv4 = public_ipv4(server, topology, cloud);
  choice.public_ipv6 = public_ipv6(server, cloud);
  choice.private_ipv4 = private_ipv4(server, topology, cloud);
  choice.interface_ip =
      interface_ip(server, choice, topology, cloud, host_has_ipv6 && !cloud.force_ipv4);
  return choice;
}

bool needs_floating_ip(const Server& server, const AddressChoice& choice, const Topology& topology,
                       const Cloud& cloud) {
  if (!cloud.has_floating_ips || cloud.is_private || !topology.floating_source) return false;
  if (!choice.public_ipv4.empty() || floating(server.addresses) != nullptr) return false;
  return !choice.private_ipv4.empty() || !first(server.addresses, {.type = "fixed"}).empty();
}

std::optional<PortChoice> choose_port(std::vector<Port> ports, const Topology& topology) {
  using driver::CloudError;
  if (ports.empty()) return std::nullopt;
  if (ports.size() > 1) {
    if (!topology.nat_destination) {
      throw CloudError(CloudError::Kind::failed,
                       "the server has several ports, and no network is the `nat_destination`: set "
                       "one in clouds.yaml");
    }
    std::erase_if(ports, [&topology](const Port& port) {
      return port.network_id != topology.nat_destination->id;
    });
  }
  std::ranges::sort(ports, std::greater<>(), &Port::created_at);
  for (const Port& port : ports) {
    if (const std::string address = ipv4_of(port); !address.empty()) {
      return PortChoice{port.id, address};
    }
  }
  throw CloudError(CloudError::Kind::failed,
                   "no port of the server has an IPv4 address for a floating IP");
}

void add_floating_ip(ServerAddresses& addresses, const FloatingIp& floating_ip) {
  for (auto& [network, entries] : addresses) {
    const auto is_there = [&floating_ip](const ServerAddress& entry) {
      return entry.address == floating_ip.address;
    };
    if (std::ranges::any_of(entries, is_there)) return;
  }
  for (auto& [network, entries] : addresses) {
    const auto fixed =
        std::ranges::find(entries, floating_ip.fixed_address, &ServerAddress::address);
    if (fixed == entries.end()) continue;
    const std::string mac = fixed->mac;
    entries.push_back(
        {.address = floating_ip.address, .version = 4, .type = "floating", .mac = mac});
    return;
  }
}

bool host_has_ipv6() {
  ifaddrs* list = nullptr;
  if (::getifaddrs(&list) != 0) return false;
  const std::unique_ptr<ifaddrs, decltype(&::freeifaddrs)> owner(list, &::freeifaddrs);
  for (const ifaddrs* entry = list; entry != nullptr; entry = entry->ifa_next) {
    if (entry->ifa_addr == nullptr || entry->ifa_addr->sa_family != AF_INET6) continue;
    sockaddr_in6 address{};
    std::memcpy(&address, entry->ifa_addr, sizeof address);
    constexpr unsigned kGlobalMask = 0xe0;  // 2000::/3 (RFC 4291 §2.4)
    if ((address.sin6_addr.s6_addr[0] & kGlobalMask) == 0x20) return true;
  }
  return false;
}

}  // namespace nodepool::drivers::openstack
