#pragma once

#include <memory>

#include "async/clock.h"
#include "async/task.h"
#include "http/rate_limit.h"
#include "http/request.h"

namespace nodepool::http {

// Limits the rate of calls to an endpoint, and pauses them on request of the server. Deletions have
// precedence over creations, and these over reads; calls of the same kind are in order of arrival.
// To prevent starvation, a waiting creation gets a turn after at most 10 deletions, and a waiting
// read after at most 50 other calls.
class RateGovernor final : public RateLimit {
 public:
  // Calls a second; 0 or less: unlimited.
  explicit RateGovernor(async::Clock& clock, double calls_per_second = 0);
  ~RateGovernor() override;

  // Changes the rate.
  void set_rate(double calls_per_second);

  async::Task<> turn(Precedence precedence) override;
  void pause_until(async::Clock::TimePoint when) override;

 private:
  class Queue;
  class Wait;

  std::shared_ptr<Queue> queue_;  // shared with waiting calls, which may outlive this
};

}  // namespace nodepool::http
