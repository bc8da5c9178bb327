#pragma once

#include <array>
#include <cstdint>
#include <optional>

#include "http/rate_governor.h"
#include "http/rate_limit.h"
#include "http/request.h"

namespace nodepool::drivers::azure {

// The rate limit of all calls of an account. Azure announces in its responses how many calls of a
// kind it will still accept: calls of the same precedence pause before it refuses them.
class ArmRateLimit final : public http::RateLimit {
 public:
  explicit ArmRateLimit(async::Clock& clock) : clock_(clock), governor_(clock) {}

  // Calls a second; 0: no limit.
  void set_rate(double calls_per_second) { governor_.set_rate(calls_per_second); }

  // Reads the headers of a response to a call.
  void observe(http::Precedence precedence, const http::Response& response);

  async::Task<> turn(http::Precedence precedence) override;
  void pause_until(async::Clock::TimePoint when) override { governor_.pause_until(when); }

 private:
  async::Clock& clock_;
  http::RateGovernor governor_;
  std::array<async::Clock::TimePoint, http::kPrecedences> paused_until_{};
};

// The smallest number of remaining calls in the headers `x-ms-ratelimit-remaining-…`. Ignores the
// limits of a single resource. Returns nothing if there is none.
std::optional<std::int64_t> remaining_calls(const http::Headers& headers);

}  // namespace nodepool::drivers::azure
