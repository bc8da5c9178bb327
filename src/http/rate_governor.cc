#include "http/rate_governor.h"

#include <algorithm>

namespace nodepool::http {

RateGovernor::RateGovernor(async::Clock& clock, double calls_per_second) : clock_(clock) {
  if (calls_per_second <= 0) return;
  spacing_ = std::chrono::duration_cast<async::Duration>(
      std::chrono::duration<double>(1 / calls_per_second));
}

async::Task<> RateGovernor::turn() {
  while (true) {
    const async::Clock::TimePoint turn = std::max(next_, clock_.now());
    if (turn <= clock_.now()) break;
    next_ = turn + spacing_;
    co_await clock_.sleep_until(turn);
    if (paused_until_ <= clock_.now()) co_return;
  }
  next_ = clock_.now() + spacing_;
}

void RateGovernor::pause_until(async::Clock::TimePoint when) {
  paused_until_ = std::max(paused_until_, when);
  next_ = std::max(next_, when);
}

}  // namespace nodepool::http
