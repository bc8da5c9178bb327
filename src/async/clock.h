#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <queue>
#include <vector>

#include "async/task.h"

namespace nodepool::async {

// The source of time. Production code never gets the time from the operating system directly, so a
// test can run hours of waiting in microseconds with a VirtualClock.
class Clock {
 public:
  // A point on the clock's monotonic scale.
  using TimePoint = std::chrono::time_point<Clock, Duration>;

  virtual ~Clock() = default;

  // Now, on a scale that never jumps: for deadlines and durations.
  virtual TimePoint now() const = 0;

  // Now, in seconds since the epoch with a fraction: for `state_time` and other record fields. May
  // jump when the machine's time is set.
  virtual double wall_seconds() const = 0;

  // Returns at `when`, at once if that has passed. Throws Cancelled.
  virtual Task<> sleep_until(TimePoint when) = 0;

  // Returns after `duration`. Throws Cancelled.
  Task<> sleep_for(Duration duration) { return sleep_until(now() + duration); }
};

// The machine's clocks.
class SystemClock final : public Clock {
 public:
  TimePoint now() const override;
  double wall_seconds() const override;
  Task<> sleep_until(TimePoint when) override;
};

// A clock that advances only on request, for tests and simulation.
class VirtualClock final : public Clock {
 public:
  // `wall` is the initial wall_seconds().
  explicit VirtualClock(double wall = 1'700'000'000.0) : wall_offset_(wall) {}

  TimePoint now() const override { return now_; }
  double wall_seconds() const override;
  Task<> sleep_until(TimePoint when) override;

  // The earliest wake-up time of a sleeper; TimePoint::max() if there is none.
  TimePoint next_wakeup() const;

  // Advances to `when` and wakes the sleepers up to then, in the order of their wake-up times. The
  // tasks run when their event loop is polled.
  void advance_to(TimePoint when);
  void advance_by(Duration duration) { advance_to(now_ + duration); }

  // Sets the wall time but not the monotonic one, like an administrator or NTP.
  void shift_wall_clock(double seconds) { wall_offset_ += seconds; }

 private:
  struct Sleeper;
  struct Later {
    bool operator()(const std::shared_ptr<Sleeper>& a, const std::shared_ptr<Sleeper>& b) const;
  };

  TimePoint now_{};
  double wall_offset_;
  std::uint64_t next_ticket_ = 0;
  mutable std::priority_queue<std::shared_ptr<Sleeper>, std::vector<std::shared_ptr<Sleeper>>,
                              Later>
      sleepers_;
};

}  // namespace nodepool::async
