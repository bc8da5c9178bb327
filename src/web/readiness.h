#pragma once

#include "telemetry/health.h"
#include "web/message.h"

namespace nodepool::web {

// The page /ready: 200 and "OK" if the daemon serves, as the Python Nodepool's; else 503 with what
// keeps it from that. With the parameter `detail` also what should be seen to: lines of text, or a
// JSON object.
Response readiness_page(const telemetry::Health& health, const Request& request);

}  // namespace nodepool::web
