#include "http/attempt_metrics.h"

#include "telemetry/cloud_call_metrics.h"

namespace nodepool::http {

Client::Observer attempt_metrics(telemetry::Metrics metrics, std::string provider) {
  if (!metrics.enabled()) return {};
  return [metrics = std::move(metrics), provider = std::move(provider)](const Attempt& attempt) {
    const std::chrono::duration<double> time(attempt.seconds);
    telemetry::MetricsBatch batch(metrics);
    batch.time(telemetry::series<telemetry::kCloudCalls>(provider, attempt.name),
               std::chrono::duration_cast<std::chrono::nanoseconds>(time));
    const std::string status = std::to_string(attempt.status);
    batch.count(telemetry::series<telemetry::kCloudResponses>(provider, attempt.name, status));
  };
}

}  // namespace nodepool::http
