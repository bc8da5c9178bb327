#pragma once

#include <chrono>
#include <cmath>
#include <optional>

#include "async/clock.h"

namespace nodepool::builder {

// The time of day for decisions by the age of a record. A clock that is set, such as by NTP, may be
// set back a moment later: the new time counts when it has held for a minute.
class SettledTime {
 public:
  using TimePoint = async::Clock::TimePoint;

  // `clock` outlives it.
  explicit SettledTime(const async::Clock& clock) : clock_(clock), offset_(offset()) {}

  // Now, in seconds since the epoch. Notices that the clock was set.
  double now() {
    const TimePoint now = clock_.now();
    const double current = offset();
    const bool is_known = step_ && is_same(current, step_->offset);
    const bool has_held = is_known && now >= step_->since + kHold;
    if (is_same(current, offset_) || has_held) {
      step_.reset();
    } else if (!is_known) {
      step_ = {current, now};
    }
    if (step_) return offset_ + seconds(now);
    offset_ = current;
    return clock_.wall_seconds();
  }

  // When a new time will count that the last now() has noticed. Returns nothing if there is none.
  std::optional<TimePoint> settles_at() const {
    return step_ ? std::optional(step_->since + kHold) : std::nullopt;
  }

 private:
  static constexpr auto kHold = std::chrono::seconds(60);
  static constexpr double kSmallestStep = 5;  // seconds

  struct Step {
    double offset;
    TimePoint since;
  };

  static double seconds(TimePoint time) {
    return std::chrono::duration<double>(time.time_since_epoch()).count();
  }
  static bool is_same(double first, double second) {
    return std::abs(first - second) < kSmallestStep;
  }
  // Changes only when the clock is set: both scales run at the same speed.
  double offset() const { return clock_.wall_seconds() - seconds(clock_.now()); }

  const async::Clock& clock_;
  double offset_;
  std::optional<Step> step_;  // not yet followed
};

}  // namespace nodepool::builder
