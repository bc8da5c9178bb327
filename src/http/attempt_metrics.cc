#include "http/attempt_metrics.h"

#include <fmt/format.h>

namespace nodepool::http {

Client::Observer attempt_metrics(telemetry::Metrics metrics, std::string prefix) {
  if (!metrics.enabled()) return {};
  return [metrics = std::move(metrics), prefix = std::move(prefix)](const Attempt& attempt) {
    const std::chrono::duration<double> time(attempt.seconds);
    const std::string key = fmt::format("{}.{}", prefix, telemetry::key_part_of_text(attempt.name));
    telemetry::MetricsBatch batch(metrics);
    batch.time_and_count(key, std::chrono::duration_cast<std::chrono::nanoseconds>(time));
    batch.count(fmt::format("{}.{}", key, attempt.status));
  };
}

}  // namespace nodepool::http
