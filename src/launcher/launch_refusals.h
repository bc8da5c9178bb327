#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>

#include "async/clock.h"
#include "model/observers.h"
#include "planning/verdict.h"

namespace nodepool::launcher {

using planning::PoolLabel;

// The labels of a provider's pools whose launches are suspended because the cloud has refused one
// in spite of free quota: others have taken what was left, the exhausted quota is one that the
// provider does not read, or no host has enough free memory in one piece. Other labels may still be
// launched.
//
// A suspension ends after a minute; earlier if capacity is freed, but not at once, because that may
// have been the rest of the refused machine. Then one request tries, and the others follow a moment
// later unless it is refused as well: many requests at a full cloud must not all try each time.
class LaunchRefusals {
 public:
  using TimePoint = async::Clock::TimePoint;

  // A launch was refused now.
  void refused(const PoolLabel& label, TimePoint now);

  // Launches of a label that is not suspended begin now.
  void begin(const PoolLabel& label, TimePoint now);

  // A machine of the provider was deleted now, or others use less.
  void capacity_freed(TimePoint now);

  std::set<PoolLabel> suspended(TimePoint now) const;

  // When the next suspension ends. Returns nothing if no label is suspended.
  std::optional<TimePoint> next_end(TimePoint now) const;

  // The number of refusals so far.
  std::int64_t count() const { return count_; }

  // Calls `observer` after a refusal, and when the end of a suspension changes.
  coordination::Subscription observe(std::function<void()> observer) {
    return changes_.subscribe(std::move(observer));
  }

 private:
  struct Suspension {
    TimePoint since;
    TimePoint until;
    bool is_trial = false;  // ends for good unless the request that tries is refused
  };

  std::map<PoolLabel, Suspension> suspensions_;  // until the label is launched after their end
  std::int64_t count_ = 0;
  model::Observers<> changes_;
};

}  // namespace nodepool::launcher
