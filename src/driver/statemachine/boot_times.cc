#include "driver/statemachine/boot_times.h"

#include <algorithm>
#include <vector>

namespace nodepool::driver {

namespace {

// Bounds of the time between two polls, as fractions of the usual boot time.
constexpr int kFinestPart = 64;
constexpr int kCoarsestPart = 24;

// Number of polls between the earliest and the latest time.
constexpr int kPollsInBetween = 8;

Expectation expect(const std::deque<async::Duration>& samples) {
  std::vector<async::Duration> sorted(samples.begin(), samples.end());
  std::ranges::sort(sorted);
  const std::size_t outliers = sorted.size() / 10;  // at each end
  const async::Duration usual = sorted[sorted.size() / 2];
  const async::Duration margin = usual / (4 * static_cast<std::int64_t>(sorted.size()));
  Expectation expectation;
  expectation.usual = usual;
  expectation.earliest = std::max(sorted[outliers] - margin, async::Duration::zero());
  expectation.latest = sorted[sorted.size() - 1 - outliers] + margin;
  expectation.step = std::clamp((expectation.latest - expectation.earliest) / kPollsInBetween,
                                usual / kFinestPart, usual / kCoarsestPart);
  return expectation;
}

}  // namespace

void BootTimes::learn(async::Duration taken) {
  samples_.push_back(std::max(taken, async::Duration::zero()));
  if (samples_.size() > kMaxSamples) samples_.pop_front();
  expectation_ = expect(samples_);
  if (on_learned_) on_learned_(samples_.back());
}

void BootTimes::restore(const std::vector<double>& seconds) {
  for (auto time = seconds.rbegin(); time != seconds.rend() && samples_.size() < kMaxSamples;
       ++time) {
    samples_.push_front(
        std::chrono::duration_cast<async::Duration>(std::chrono::duration<double>(*time)));
  }
  if (!samples_.empty()) expectation_ = expect(samples_);
}

}  // namespace nodepool::driver
