#pragma once

#include <algorithm>
#include <optional>

#include "async/clock.h"

namespace nodepool::driver {

// How long a cloud has not responded to a launch.
class Silence {
 public:
  using TimePoint = async::Clock::TimePoint;

  // An attempt begins. A silence that lasts continues.
  void begin_attempt(TimePoint now) {
    earlier_ = {};
    attempt_begun_ = now;
  }

  // A call has ended, with a response or without one.
  void note(bool has_responded, TimePoint now) {
    if (has_responded) {
      earlier_ = in_attempt(now);
      since_.reset();
    } else if (!since_) {
      since_ = now;
    }
  }

  // The duration of the current silence; 0: there is none.
  async::Duration current(TimePoint now) const {
    return since_ ? now - *since_ : async::Duration();
  }

  // The total of this attempt.
  async::Duration in_attempt(TimePoint now) const {
    return earlier_ + (since_ ? now - std::max(*since_, attempt_begun_) : async::Duration());
  }

 private:
  TimePoint attempt_begun_{};
  async::Duration earlier_{};  // of this attempt, without the current silence
  std::optional<TimePoint> since_;
};

}  // namespace nodepool::driver
