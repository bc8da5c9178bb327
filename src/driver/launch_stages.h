#pragma once

#include <string>
#include <string_view>

#include "async/clock.h"
#include "telemetry/metrics.h"

namespace nodepool::driver {

// Reports the duration of the stages of one launch (kLaunchStages). The first one begins at
// construction.
class LaunchStages {
 public:
  LaunchStages(telemetry::Metrics metrics, const async::Clock& clock, std::string provider)
      : metrics_(std::move(metrics)), clock_(clock), provider_(std::move(provider)) {}

  // Ends a stage now, or at `when`, which may be in the past; the next one begins.
  void reached(std::string_view stage) { reached(stage, clock_.now()); }
  void reached(std::string_view stage, async::Clock::TimePoint when);

  // Ends a stage whose duration is known from wall-clock times; the next one begins now.
  void reached_after(std::string_view stage, double seconds);

  // Begins the next stage now, without reporting the previous one.
  void begin() { begun_ = clock_.now(); }

 private:
  telemetry::Metrics metrics_;
  const async::Clock& clock_;
  std::string provider_;
  async::Clock::TimePoint begun_ = clock_.now();
};

}  // namespace nodepool::driver
