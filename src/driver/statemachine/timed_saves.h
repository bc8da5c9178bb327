#pragma once

#include <optional>

#include "async/clock.h"
#include "driver/launch.h"

namespace nodepool::driver {

// A NodeLaunch that measures how long its writes take: that time does not count as the cloud's.
class TimedSaves final : public NodeLaunch {
 public:
  // Both outlive this.
  TimedSaves(NodeLaunch& launch, async::Clock& clock) : launch_(launch), clock_(clock) {}

  model::Node& node() override { return launch_.node(); }
  const model::Node& node() const { return launch_.node(); }
  const model::NodeRequest& request() const override { return launch_.request(); }
  std::optional<UploadedImage> image() const override { return launch_.image(); }
  bool may_be_left_to_others() const override { return launch_.may_be_left_to_others(); }
  void attempt_ended(const LaunchTrace& trace) override { launch_.attempt_ended(trace); }
  async::Task<> save() override;

  // The total duration of all writes, including the one in progress.
  async::Duration taken() const;

 private:
  NodeLaunch& launch_;
  async::Clock& clock_;
  async::Duration taken_{};
  std::optional<async::Clock::TimePoint> since_;  // start of the write in progress
};

}  // namespace nodepool::driver
