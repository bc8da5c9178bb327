#pragma once

#include <memory>

#include "async/clock.h"
#include "async/task.h"
#include "http/request.h"

namespace nodepool::http {

// Spaces the calls of one endpoint: no more than so many a second, and none before a time that the
// server has asked for. What deletes goes first, then what makes something, then what only looks;
// the same kind in the order in which it came. While others go before them, looks get one turn in
// so many: somebody waits for what they would see.
class RateGovernor {
 public:
  // Calls a second; 0 or less: as many as there are.
  RateGovernor(async::Clock& clock, double calls_per_second);
  ~RateGovernor();
  RateGovernor(const RateGovernor&) = delete;
  RateGovernor& operator=(const RateGovernor&) = delete;

  // From now on.
  void set_rate(double calls_per_second);

  // Returns when it is the caller's turn. Throws Cancelled.
  async::Task<> turn(Precedence precedence);

  // Nobody's turn comes before that.
  void pause_until(async::Clock::TimePoint when);

 private:
  class Line;
  class Wait;

  std::shared_ptr<Line> line_;  // shared with those who wait: they may go last
};

}  // namespace nodepool::http
