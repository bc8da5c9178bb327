#pragma once

#include "telemetry/health.h"
#include "web/message.h"

namespace nodepool::web {

// The health for clients without the right to read: whether the daemon is ready, but not why.
telemetry::Health without_reasons(telemetry::Health health);

// The page /ready: 200 and "OK" if the daemon is ready, as in the Python Nodepool; else 503 with
// the obstacles. With the parameter `detail`, also the problems that need attention: lines of text
// or a JSON object.
Response readiness_page(const telemetry::Health& health, const Request& request);

}  // namespace nodepool::web
