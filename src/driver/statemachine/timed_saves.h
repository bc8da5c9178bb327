#pragma once

#include <optional>

#include "async/clock.h"
#include "driver/launch.h"

namespace nodepool::driver {

// A launch whose writes are timed: the time that the store takes is not the cloud's.
class TimedSaves final : public NodeLaunch {
 public:
  // Both outlive this.
  TimedSaves(NodeLaunch& launch, async::Clock& clock) : launch_(launch), clock_(clock) {}

  model::Node& node() override { return launch_.node(); }
  const model::Node& node() const { return launch_.node(); }
  const model::NodeRequest& request() const override { return launch_.request(); }
  std::optional<UploadedImage> image() const override { return launch_.image(); }
  void attempt_ended(const LaunchTrace& trace) override { launch_.attempt_ended(trace); }
  async::Task<> save() override;

  // What all writes together have taken up to now, the one under way as well.
  async::Duration taken() const;

 private:
  NodeLaunch& launch_;
  async::Clock& clock_;
  async::Duration taken_{};
  std::optional<async::Clock::TimePoint> since_;  // a write is under way
};

}  // namespace nodepool::driver
