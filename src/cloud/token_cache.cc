#include "cloud/token_cache.h"

#include <algorithm>

namespace nodepool::cloud {

namespace {

// How long before its end a token is renewed, at most.
constexpr std::chrono::duration<double> kRenewBefore = std::chrono::minutes(5);

}  // namespace

async::Clock::TimePoint renewal_time(async::Clock::TimePoint asked_at,
                                     std::chrono::duration<double> life) {
  const auto use = std::max(life * 0.9, life - kRenewBefore);
  return asked_at + std::chrono::duration_cast<async::Duration>(use);
}

}  // namespace nodepool::cloud
