#include "driver/launch_metrics.h"

#include "driver/driver_metrics.h"

namespace nodepool::driver {

void LaunchMetrics::ended(std::string_view result, const model::Node& node) const {
  const async::Duration time = clock_.now() - begun_;
  metrics_.time(telemetry::series<kLaunches>(node.provider.value_or(""), node.az.value_or(""),
                                             node.requestor.value_or(""), result),
                time);
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
