#include "driver/launch_stages.h"

#include <algorithm>
#include <chrono>

#include "driver/driver_metrics.h"

namespace nodepool::driver {

void LaunchStages::reached(std::string_view stage, async::Clock::TimePoint when) {
  metrics_.time(telemetry::series<kLaunchStages>(provider_, stage), when - begun_);
  begun_ = when;
}

// `seconds` may be negative: the clocks of hosts differ and are adjusted.
void LaunchStages::reached_after(std::string_view stage, double seconds) {
  const std::chrono::duration<double> time(std::max(seconds, 0.0));
  metrics_.time(telemetry::series<kLaunchStages>(provider_, stage),
                std::chrono::duration_cast<std::chrono::nanoseconds>(time));
  begin();
}

}  // namespace nodepool::driver
