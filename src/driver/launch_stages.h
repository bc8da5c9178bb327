#pragma once

#include <string>
#include <string_view>

#include "async/clock.h"
#include "telemetry/metrics.h"

namespace nodepool::driver {

// Tells how long the stages of making one node take (kLaunchStages). The first begins now.
class LaunchStages {
 public:
  LaunchStages(telemetry::Metrics metrics, const async::Clock& clock, std::string provider)
      : metrics_(std::move(metrics)), clock_(clock), provider_(std::move(provider)) {}

  // A stage is over now, and the next one begins.
  void reached(std::string_view stage) { reached(stage, clock_.now()); }
  // … at that moment, which may have been before.
  void reached(std::string_view stage, async::Clock::TimePoint when);

  // A stage is over that took so long by other clocks, and the next one begins now.
  void reached_after(std::string_view stage, double seconds);

  // The next one begins now, and of the one before nothing is told.
  void begin() { begun_ = clock_.now(); }

 private:
  telemetry::Metrics metrics_;
  const async::Clock& clock_;
  std::string provider_;
  async::Clock::TimePoint begun_ = clock_.now();
};

}  // namespace nodepool::driver
