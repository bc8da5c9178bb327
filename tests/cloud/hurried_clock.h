#pragma once

#include <algorithm>
#include <vector>

#include "async/clock.h"

namespace nodepool::cloud {

// Passes all pauses at once.
class HurriedClock final : public async::Clock {
 public:
  TimePoint now() const override { return TimePoint(real_.now().time_since_epoch() + passed); }
  double wall_seconds() const override { return real_.wall_seconds(); }
  async::Task<> sleep_until(TimePoint when) override {
    pauses.push_back(when - now());
    passed += std::max(pauses.back(), async::Duration::zero());
    co_return;
  }

  async::Duration passed{};
  std::vector<async::Duration> pauses;

 private:
  async::SystemClock real_;
};

}  // namespace nodepool::cloud
