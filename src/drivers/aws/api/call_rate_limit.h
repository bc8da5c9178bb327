#pragma once

#include "async/runtime.h"
#include "http/rate_governor.h"

namespace nodepool::drivers::aws {

// How fast the calls of one account may follow each other: as fast as is configured, or more slowly
// if AWS says so. Each throttled call halves the rate; calls that succeed bring it back by and by.
class CallRateLimit {
 public:
  explicit CallRateLimit(const async::Runtime& runtime);

  // Of calls that change something, a second; 0: no limit. Those that look may be ten times as
  // many.
  void set_rate(double calls_per_second);

  // Returns when it is the caller's turn. Throws Cancelled.
  async::Task<> turn(http::Precedence precedence);

  // How a call has ended.
  void throttled(http::Precedence precedence);
  void accepted(http::Precedence precedence);

  // What is allowed now, of the calls that change something.
  double rate() const { return changes_.now; }

 private:
  struct Lane {
    explicit Lane(async::Clock& clock) : governor(clock, 0) {}
    void set(double rate);

    http::RateGovernor governor;
    double configured = 0;  // calls a second; 0: no limit
    double now = 0;         // 0: no limit
    async::Clock::TimePoint slowed_at{};
  };
  Lane& lane(http::Precedence precedence);

  async::Clock& clock_;
  Lane changes_;
  Lane looks_;
};

}  // namespace nodepool::drivers::aws
