#include "telemetry/health.h"

#include "telemetry/process_metrics.h"

namespace nodepool::telemetry {

void add_health(MetricsRegistry& registry, const Health& health) {
  registry.gauge(series<kReady>(), health.obstacles.empty() ? 1 : 0);
  registry.gauge(series<kProblems>(),
                 static_cast<double>(health.obstacles.size() + health.warnings.size()));
}

}  // namespace nodepool::telemetry
