#include "launcher/launch_refusals.h"

#include <algorithm>

namespace nodepool::launcher {

namespace {

constexpr auto kLongestSuspension = std::chrono::seconds(60);
constexpr auto kShortestSuspension = std::chrono::seconds(5);

// Most clouds refuse within this time.
constexpr auto kTrialTime = std::chrono::seconds(5);

}  // namespace

void LaunchRefusals::refused(const PoolLabel& label, TimePoint now) {
  ++count_;
  suspensions_[label] = {.since = now, .until = now + kLongestSuspension};
  changes_.notify();
}

void LaunchRefusals::begin(const PoolLabel& label, TimePoint now) {
  const auto found = suspensions_.find(label);
  if (found == suspensions_.end() || now < found->second.until) return;
  Suspension& suspension = found->second;
  const bool is_over = suspension.is_trial || now >= suspension.until + kLongestSuspension;
  if (is_over) {
    suspensions_.erase(found);
    return;
  }
  suspension = {.since = now, .until = now + kTrialTime, .is_trial = true};
  changes_.notify();
}

void LaunchRefusals::capacity_freed(TimePoint now) {
  bool has_changed = false;
  for (auto& [label, suspension] : suspensions_) {
    const TimePoint earliest = std::max(now, suspension.since + kShortestSuspension);
    if (suspension.until <= earliest) continue;
    suspension.until = earliest;
    has_changed = true;
  }
  if (has_changed) changes_.notify();
}

std::set<PoolLabel> LaunchRefusals::suspended(TimePoint now) const {
  std::set<PoolLabel> labels;
  for (const auto& [label, suspension] : suspensions_) {
    if (now < suspension.until) labels.insert(label);
  }
  return labels;
}

std::optional<LaunchRefusals::TimePoint> LaunchRefusals::next_end(TimePoint now) const {
  std::optional<TimePoint> next;
  for (const auto& [label, suspension] : suspensions_) {
    const bool is_earlier = !next || suspension.until < *next;
    if (now < suspension.until && is_earlier) next = suspension.until;
  }
  return next;
}

}  // namespace nodepool::launcher
