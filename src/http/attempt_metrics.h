#pragma once

#include <string>

#include "http/client.h"
#include "telemetry/metrics.h"

namespace nodepool::http {

// An observer that records the duration and the status of every attempt at a cloud call, by
// Request::name.
Client::Observer attempt_metrics(telemetry::Metrics metrics, std::string provider);

}  // namespace nodepool::http
