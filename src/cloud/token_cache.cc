#include "cloud/token_cache.h"

#include <algorithm>

namespace nodepool::cloud {

namespace {

using Seconds = std::chrono::duration<double>;

// Maximum time before its expiry when a token is renewed.
constexpr Seconds kRenewBefore = std::chrono::minutes(5);
constexpr Seconds kLongest = std::chrono::hours(24 * 365 * 10);

async::Clock::TimePoint after(async::Clock::TimePoint begin, Seconds time) {
  return begin + std::chrono::duration_cast<async::Duration>(time);
}

}  // namespace

TokenLife token_life(async::Clock::TimePoint asked_at, Seconds duration) {
  // NaN counts as 0.
  const Seconds life = duration > Seconds(0) ? std::min(duration, kLongest) : Seconds(0);
  return {.renew_at = after(asked_at, std::max(life * 0.9, life - kRenewBefore)),
          .ends_at = after(asked_at, life)};
}

}  // namespace nodepool::cloud
