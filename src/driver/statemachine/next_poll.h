#pragma once

#include <optional>

#include "async/clock.h"
#include "driver/statemachine/boot_times.h"

namespace nodepool::driver {

// How often a cloud may be polled.
struct PollIntervals {
  async::Duration unknown{};  // between two polls if the expected time is unknown
  async::Duration least{};    // minimum time between two polls; more than zero
};

// When to poll next for a machine that was made at `made`. `made` is nothing if an earlier launcher
// made it: it may be up already. `expected` is nothing if the boot time is unknown. `last_poll` is
// the last poll by any waiter.
//
// If the boot time is known, polls once at 3/4 of the earliest time, in case the cloud has become
// faster, then at each step from the earliest time on, and less and less often after the latest.
async::Clock::TimePoint next_poll(std::optional<async::Clock::TimePoint> made,
                                  const std::optional<Expectation>& expected,
                                  std::optional<async::Clock::TimePoint> last_poll,
                                  const PollIntervals& intervals);

}  // namespace nodepool::driver
