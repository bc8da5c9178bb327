#pragma once

#include "telemetry/metrics_registry.h"

namespace nodepool::telemetry {

// Adds this process's processor time, memory, open files and start time from the kernel, and its
// version. Omits values that cannot be read.
void add_process_values(MetricsRegistry& registry);

// The start time of this process, in seconds since the epoch; 0: unknown.
double process_start();

}  // namespace nodepool::telemetry
