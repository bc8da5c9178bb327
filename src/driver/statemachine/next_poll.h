#pragma once

#include <optional>

#include "async/clock.h"
#include "driver/statemachine/boot_times.h"

namespace nodepool::driver {

// How often a cloud may be looked at.
struct PollIntervals {
  async::Duration unknown{};  // where nobody knows how long something takes
  async::Duration least{};    // the least time between two looks; more than none
};

// When somebody who waits for a machine that was made at `made` wants it looked at, given when
// anybody has looked last; what one look shows, all see. `made`: nothing if it was made by an
// earlier launcher: it may be up already. `expected`: nothing if nobody knows how long it takes.
//
// Who knows looks once in the middle, for a cloud that has become faster, and then as soon as the
// machine may be up, step by step; the later it is, the less often.
async::Clock::TimePoint next_poll(std::optional<async::Clock::TimePoint> made,
                                  const std::optional<Expectation>& expected,
                                  std::optional<async::Clock::TimePoint> last_poll,
                                  const PollIntervals& intervals);

}  // namespace nodepool::driver
