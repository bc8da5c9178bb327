#pragma once

#include <string>
#include <vector>

#include "telemetry/metrics_registry.h"

namespace nodepool::telemetry {

// Whether a daemon is ready, and its problems, as sentences.
struct Health {
  std::vector<std::string> obstacles;  // why it is not ready; empty: it is ready
  std::vector<std::string> warnings;   // problems that need attention although it is ready
};

// Adds nodepool_ready, and nodepool_problems, which counts both.
void add_health(MetricsRegistry& registry, const Health& health);

}  // namespace nodepool::telemetry
