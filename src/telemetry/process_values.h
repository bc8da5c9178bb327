#pragma once

#include "telemetry/metrics_registry.h"

namespace nodepool::telemetry {

// Adds what the kernel knows of this process: its processor time, memory and open files, when it
// was started; and which version it is. What cannot be read is left out.
void add_process_values(MetricsRegistry& registry);

// When this process was started, in seconds since the epoch; 0: the kernel does not say.
double process_start();

}  // namespace nodepool::telemetry
