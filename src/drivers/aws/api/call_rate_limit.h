#pragma once

#include "async/runtime.h"
#include "http/rate_governor.h"
#include "http/rate_limit.h"

namespace nodepool::drivers::aws {

// The rate limit for the calls of one account. A throttled call halves the configured rate;
// successful calls restore it gradually.
class CallRateLimit final : public http::RateLimit {
 public:
  explicit CallRateLimit(const async::Runtime& runtime);

  // The rate of mutating calls, per second; 0: no limit. Reading calls may be ten times as
  // frequent.
  void set_rate(double calls_per_second);

  async::Task<> turn(http::Precedence precedence) override;
  void pause_until(async::Clock::TimePoint when) override;
  void throttled(http::Precedence precedence) override;
  void accepted(http::Precedence precedence) override;

  // The current rate of mutating calls.
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
