#pragma once

#include "web/listen_address.h"
#include "web/message.h"

namespace nodepool::web {

// Whether a listener on the loopback interface may answer the request: the Host header is a
// loopback name or address, the listener's own host, one of its names, or missing. This stops DNS
// rebinding: an attacker's page, whose host name resolves to 127.0.0.1 by now, would read the
// answer. /live and /ready are always answered, because load balancers send any Host.
bool is_host_allowed(const Request& request, const ListenAddress& listen_address);

}  // namespace nodepool::web
