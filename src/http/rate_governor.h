#pragma once

#include <optional>

#include "async/clock.h"
#include "async/task.h"

namespace nodepool::http {

// Spaces the calls of one endpoint: no more than so many a second, and none before a time that the
// server has asked for. Calls go in the order in which they came.
class RateGovernor {
 public:
  // Calls a second; 0 or less: as many as there are.
  RateGovernor(async::Clock& clock, double calls_per_second);

  // Returns when it is the caller's turn. Throws Cancelled.
  async::Task<> turn();

  // Nobody's turn comes before that.
  void pause_until(async::Clock::TimePoint when);

 private:
  async::Clock& clock_;
  async::Duration spacing_{};
  async::Clock::TimePoint next_{};  // the first turn that nobody has
  async::Clock::TimePoint paused_until_{};
};

}  // namespace nodepool::http
