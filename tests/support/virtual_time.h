#pragma once

#include "async/clock.h"

namespace nodepool::test_support {

// Lets virtual time pass, from one timer to the next. `settle` runs what can run without time
// passing.
template <typename Settle>
void pass(async::VirtualClock& clock, async::Duration duration, const Settle& settle) {
  const async::Clock::TimePoint end = clock.now() + duration;
  settle();
  while (clock.next_wakeup() <= end) {
    clock.advance_to(clock.next_wakeup());
    settle();
  }
  clock.advance_to(end);
  settle();
}

}  // namespace nodepool::test_support
