#pragma once

#include <string>

#include "web/message.h"

namespace nodepool::web {

// What tells clients from one place from those of others: "user 1000" of a Unix socket, an IPv4
// address, or the network of an IPv6 address ("2001:db8:0:1::/64"): who has one has all of it.
std::string origin(const Peer& peer);

// Whether it is on this machine. A proxy may be, which speaks for many.
bool is_near(const Peer& peer);

}  // namespace nodepool::web
