#include "web/origin.h"

#include <arpa/inet.h>
#include <netinet/in.h>

#include <algorithm>
#include <array>

namespace nodepool::web {

namespace {

constexpr std::size_t kNetwork = 8;  // bytes of an IPv6 address: its first 64 bits

}  // namespace

std::string origin(const Peer& peer) {
  if (peer.user) return "user " + std::to_string(*peer.user);
  std::string address = peer.address.substr(0, peer.address.find('%'));  // without its zone
  in6_addr bytes{};
  if (::inet_pton(AF_INET6, address.c_str(), &bytes) != 1) return address;
  std::fill(std::begin(bytes.s6_addr) + kNetwork, std::end(bytes.s6_addr), 0);
  std::array<char, INET6_ADDRSTRLEN> text{};
  return std::string(::inet_ntop(AF_INET6, &bytes, text.data(), text.size())) + "/64";
}

bool is_on_this_machine(const Peer& peer) {
  return peer.user || peer.address == "::1" || peer.address.starts_with("127.");
}

}  // namespace nodepool::web
