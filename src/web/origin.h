#pragma once

#include <string>

#include "web/message.h"

namespace nodepool::web {

// The key for limits of a client: "user 1000" for a Unix socket, the IPv4 address, or the /64
// network of an IPv6 address ("2001:db8:0:1::/64"), because one machine can use the whole network.
std::string origin(const Peer& peer);

// Whether the client is on this machine. It may be a proxy for many others.
bool is_on_this_machine(const Peer& peer);

}  // namespace nodepool::web
