#include "driver/statemachine/boot_times.h"

#include <algorithm>
#include <vector>

namespace nodepool::driver {

namespace {

// Bounds of the time between two looks, as parts of the usual time: what is lost by looking late is
// small beside the boot, and a slow machine is not asked for all the time.
constexpr int kFinestPart = 64;
constexpr int kCoarsestPart = 24;

// Looks that the time between the earliest and the latest is divided into.
constexpr int kLooksInBetween = 8;

Expectation expect(const std::deque<async::Duration>& known) {
  std::vector<async::Duration> sorted(known.begin(), known.end());
  std::ranges::sort(sorted);
  const std::size_t outliers = sorted.size() / 10;  // at each end
  const async::Duration usual = sorted[sorted.size() / 2];
  const async::Duration margin = usual / (4 * static_cast<std::int64_t>(sorted.size()));
  Expectation expectation;
  expectation.usual = usual;
  expectation.earliest = std::max(sorted[outliers] - margin, async::Duration::zero());
  expectation.latest = sorted[sorted.size() - 1 - outliers] + margin;
  expectation.step = std::clamp((expectation.latest - expectation.earliest) / kLooksInBetween,
                                usual / kFinestPart, usual / kCoarsestPart);
  return expectation;
}

}  // namespace

void BootTimes::learn(async::Duration taken) {
  known_.push_back(std::max(taken, async::Duration::zero()));
  if (known_.size() > kMost) known_.pop_front();
  expectation_ = expect(known_);
  if (told_) told_(known_.back());
}

void BootTimes::restore(const std::vector<double>& seconds) {
  for (auto time = seconds.rbegin(); time != seconds.rend() && known_.size() < kMost; ++time) {
    known_.push_front(
        std::chrono::duration_cast<async::Duration>(std::chrono::duration<double>(*time)));
  }
  if (!known_.empty()) expectation_ = expect(known_);
}

}  // namespace nodepool::driver
