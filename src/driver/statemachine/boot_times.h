#pragma once

#include <cstddef>
#include <deque>
#include <functional>
#include <optional>
#include <utility>
#include <vector>

#include "async/clock.h"

namespace nodepool::driver {

// When a machine is expected to be up, counted from when it was made.
struct Expectation {
  async::Duration earliest{};
  async::Duration usual{};
  async::Duration latest{};
  async::Duration step{};  // between two polls from `earliest` on

  friend bool operator==(const Expectation&, const Expectation&) = default;
};

// The last boot times of machines with one label in one cloud.
class BootTimes {
 public:
  static constexpr std::size_t kMaxSamples = 32;  // older ones are dropped
  using OnLearned = std::function<void(async::Duration taken)>;

  // `on_learned` is called with each new boot time.
  explicit BootTimes(OnLearned on_learned = {}) : on_learned_(std::move(on_learned)) {}

  // Adds a boot time.
  void learn(async::Duration taken);

  // Adds saved boot times, in seconds, the oldest first, before those learned since.
  void restore(const std::vector<double>& seconds);

  const std::deque<async::Duration>& samples() const { return samples_; }  // the oldest first

  // When the next machine is expected to be up. Returns nothing without samples. The fewer samples,
  // the wider the interval.
  const std::optional<Expectation>& expectation() const { return expectation_; }

 private:
  OnLearned on_learned_;
  std::deque<async::Duration> samples_;
  std::optional<Expectation> expectation_;
};

}  // namespace nodepool::driver
