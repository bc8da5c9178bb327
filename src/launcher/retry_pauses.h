#pragma once

#include <algorithm>
#include <chrono>
#include <map>
#include <string>

#include "async/clock.h"
#include "async/pace.h"

namespace nodepool::launcher {

// The pauses after decisions that were outdated when they were carried out, by the id of the
// record: none after the first one, then the tables are stale and a moment is enough. Whatever
// makes decisions outdated again and again, from the tenth on there is one a second.
class RetryPauses {
 public:
  // The pause before the next decision.
  async::Duration after_outdated(const std::string& id, async::Clock::TimePoint now) {
    const auto [found, is_first] = paces_.try_emplace(id, kInterval, kAtOnce);
    async::Pace& pace = found->second;
    pace.done(now);
    return is_first ? async::Duration() : std::max(kPause, pace.next() - now);
  }

  // Begins anew: the record is gone, or was up to date.
  void forget(const std::string& id) { paces_.erase(id); }

  static constexpr async::Duration kPause = std::chrono::milliseconds(10);

 private:
  static constexpr async::Duration kInterval = std::chrono::seconds(1);
  static constexpr int kAtOnce = 10;

  std::map<std::string, async::Pace, std::less<>> paces_;
};

}  // namespace nodepool::launcher
