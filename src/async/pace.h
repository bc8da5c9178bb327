#pragma once

#include <algorithm>

#include "async/clock.h"

namespace nodepool::async {

// Limits how often something is done: up to `burst` times at once, and once per interval on
// average.
class Pace {
 public:
  Pace(Duration interval, int burst) : interval_(interval), burst_(burst) {}

  // The earliest time at which it may be done again.
  Clock::TimePoint next() const { return rested_at_ - (burst_ - 1) * interval_; }

  // Records that it is done now.
  void done(Clock::TimePoint now) { rested_at_ = std::max(rested_at_, now) + interval_; }

 private:
  Duration interval_;
  int burst_;
  Clock::TimePoint rested_at_{};  // from then on, all `burst` times are allowed
};

}  // namespace nodepool::async
