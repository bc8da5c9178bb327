#include "drivers/aws/api/call_rate_limit.h"

#include <algorithm>

namespace nodepool::drivers::aws {

namespace {

constexpr double kLooksForEachChange = 10;
// Without a configured rate, the first throttled call sets this rate.
constexpr double kFirstRate = 10;
constexpr double kLeastRate = 0.2;
// Each successful call adds this to a reduced rate, in calls per second.
constexpr double kRecovery = 0.05;
// Calls that are throttled together within this time count once.
constexpr async::Duration kOneRefusal = std::chrono::seconds(1);

}  // namespace

CallRateLimit::CallRateLimit(const async::Runtime& runtime)
    : clock_(runtime.clock), changes_(runtime.clock), looks_(runtime.clock) {}

void CallRateLimit::Lane::set(double rate) {
  now = rate;
  governor.set_rate(rate);
}

CallRateLimit::Lane& CallRateLimit::lane(http::Precedence precedence) {
  return precedence == http::Precedence::read ? looks_ : changes_;
}

void CallRateLimit::set_rate(double calls_per_second) {
  changes_.configured = std::max(0.0, calls_per_second);
  looks_.configured = changes_.configured * kLooksForEachChange;
  changes_.set(changes_.configured);
  looks_.set(looks_.configured);
}

async::Task<> CallRateLimit::turn(http::Precedence precedence) {
  return lane(precedence).governor.turn(precedence);
}

void CallRateLimit::pause_until(async::Clock::TimePoint when) {
  changes_.governor.pause_until(when);
  looks_.governor.pause_until(when);
}

void CallRateLimit::throttled(http::Precedence precedence) {
  Lane& slowed = lane(precedence);
  const auto now = clock_.now();
  if (slowed.slowed_at != async::Clock::TimePoint{} && now - slowed.slowed_at < kOneRefusal) return;
  slowed.slowed_at = now;
  slowed.set(slowed.now > 0 ? std::max(kLeastRate, slowed.now / 2) : kFirstRate);
}

void CallRateLimit::accepted(http::Precedence precedence) {
  Lane& used = lane(precedence);
  if (used.now == used.configured) return;
  const double next = used.now + kRecovery;
  const double most = used.configured > 0 ? used.configured : kFirstRate * kLooksForEachChange;
  used.set(next >= most ? used.configured : next);
}

}  // namespace nodepool::drivers::aws
