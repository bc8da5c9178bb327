#pragma once

#include "web/listen_address.h"
#include "web/message.h"

namespace nodepool::web {

// Whether a listener on the loopback interface may serve the request: the Host header is a loopback
// name or address, the listener's own host, one of its names, or missing. This prevents DNS
// rebinding: a page of an attacker, whose host name then resolves to 127.0.0.1, could read the
// response. /live and /ready are always allowed, because load balancers send any Host; so is
// reading the listener's public paths.
bool is_host_allowed(const Request& request, const ListenAddress& listen_address);

}  // namespace nodepool::web
