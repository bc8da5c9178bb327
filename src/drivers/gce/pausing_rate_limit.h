#pragma once

#include "http/rate_governor.h"
#include "http/rate_limit.h"

namespace nodepool::drivers::gce {

// The rate limit of all calls in a zone. Google counts calls by the minute: after a throttled call,
// all calls pause.
class PausingRateLimit final : public http::RateLimit {
 public:
  explicit PausingRateLimit(async::Clock& clock) : clock_(clock), governor_(clock) {}

  // Calls a second; 0: no limit.
  void set_rate(double calls_per_second) { governor_.set_rate(calls_per_second); }

  async::Task<> turn(http::Precedence precedence) override { return governor_.turn(precedence); }
  void pause_until(async::Clock::TimePoint when) override { governor_.pause_until(when); }
  void throttled(http::Precedence /*precedence*/) override { pause_until(clock_.now() + kPause); }

 private:
  // With the attempts of a call, about a minute.
  static constexpr async::Duration kPause = std::chrono::seconds(15);

  async::Clock& clock_;
  http::RateGovernor governor_;
};

}  // namespace nodepool::drivers::gce
