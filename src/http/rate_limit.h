#pragma once

#include "async/clock.h"
#include "async/task.h"
#include "http/request.h"

namespace nodepool::http {

// Decides when the calls that share it may be made.
class RateLimit {
 public:
  RateLimit() = default;
  virtual ~RateLimit() = default;
  RateLimit(const RateLimit&) = delete;
  RateLimit& operator=(const RateLimit&) = delete;

  // Returns when it is the caller's turn. Throws Cancelled.
  virtual async::Task<> turn(Precedence precedence) = 0;

  // Delays all calls until then.
  virtual void pause_until(async::Clock::TimePoint when) = 0;

  // The outcome of a call, for limits that depend on it.
  virtual void throttled(Precedence /*precedence*/) {}
  virtual void accepted(Precedence /*precedence*/) {}
};

}  // namespace nodepool::http
