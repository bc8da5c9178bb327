#pragma once

#include <string>

#include "http/client.h"
#include "telemetry/metrics.h"

namespace nodepool::http {

// Tells statsd of every attempt at a call: a timer and a counter `<prefix>.<call>`, and a counter
// `<prefix>.<call>.<status>`, where the status of no answer is 0. The call's name is
// Request::name as telemetry::key_part_of_text() writes it. `prefix` for the calls of a provider:
// "nodepool.task.<provider>".
Client::Observer attempt_metrics(telemetry::Metrics metrics, std::string prefix);

}  // namespace nodepool::http
