#include "driver/launch_metrics.h"

#include <fmt/format.h>

namespace nodepool::driver {

void LaunchMetrics::ended(std::string_view result, const model::Node& node) const {
  const async::Duration time = clock_.now() - begun_;
  const std::string provider = node.provider.value_or("");
  telemetry::MetricsBatch batch(metrics_);
  batch.time_and_count(fmt::format("nodepool.launch.{}", result), time);
  batch.time_and_count(fmt::format("nodepool.launch.provider.{}.{}", provider, result), time);
  if (!node.az.value_or("").empty()) {
    batch.time_and_count(
        fmt::format("nodepool.launch.provider.{}.{}.{}", provider, *node.az, result), time);
  }
  if (!node.requestor.value_or("").empty()) {
    batch.time_and_count(fmt::format("nodepool.launch.requestor.{}.{}",
                                     telemetry::key_part(*node.requestor), result),
                         time);
  }
}

std::string_view result_of(CloudError::Kind kind) {
  switch (kind) {
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
