#pragma once

#include "web/door.h"
#include "web/message.h"

namespace nodepool::web {

// Whether a door on the loopback interface may answer the request: the Host header names this
// machine as the door knows it, or there is none. A browser on this machine sends another one for
// the page of an attacker whose name has come to stand for 127.0.0.1 (DNS rebinding), which could
// read the answer. /live and /ready are for all: balancers ask for them by any name.
bool is_asked_by_name(const Request& request, const Door& door);

}  // namespace nodepool::web
