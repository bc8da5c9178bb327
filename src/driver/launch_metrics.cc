#include "driver/launch_metrics.h"

#include <algorithm>
#include <chrono>
#include <cstdint>

#include "driver/driver_metrics.h"

namespace nodepool::driver {

void LaunchMetrics::ended(std::string_view result, const model::Node& node) const {
  const async::Duration time = clock_.now() - begun_;
  metrics_.time(telemetry::series<kLaunches>(node.provider.value_or(""), node.az.value_or(""),
                                             node.requestor.value_or(""), result),
                time);
}

void LaunchMetrics::called(std::size_t calls, const model::Node& node) const {
  if (calls == 0) return;
  const std::string_view label = node.type.empty() ? std::string_view() : node.type.front();
  metrics_.count(telemetry::series<kLaunchCalls>(node.provider.value_or(""), label),
                 static_cast<std::int64_t>(calls));
}

// The machine's time may have been set back meanwhile.
void report_deletion(const telemetry::Metrics& metrics, std::string_view provider,
                     std::string_view stage, double seconds) {
  const std::chrono::duration<double> time(std::max(seconds, 0.0));
  metrics.time(telemetry::series<kDeletions>(provider, stage),
               std::chrono::duration_cast<std::chrono::nanoseconds>(time));
}

std::string_view result_of(const CloudError& error) {
  if (!error.launch_result().empty()) return error.launch_result();
  switch (error.kind()) {
    case CloudError::Kind::quota:
      return "error.quota";
    case CloudError::Kind::no_capacity:
      return "error.capacity";
    case CloudError::Kind::failed:
      return "error.status";
    case CloudError::Kind::not_found:
    case CloudError::Kind::auth:
    case CloudError::Kind::unknown_outcome:
    case CloudError::Kind::transient:
    case CloudError::Kind::permanent:
      return kLaunchFailed;
  }
  return kLaunchFailed;
}

}  // namespace nodepool::driver
