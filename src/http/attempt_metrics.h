#pragma once

#include <string>

#include "http/client.h"
#include "telemetry/metrics.h"

namespace nodepool::http {

// Tells of every attempt at a call of a provider's cloud, by Request::name: how long it took, and
// the status of its answer.
Client::Observer attempt_metrics(telemetry::Metrics metrics, std::string provider);

}  // namespace nodepool::http
