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
  async::Duration step{};  // between two looks while it may come up any moment

  friend bool operator==(const Expectation&, const Expectation&) = default;
};

// How long the last machines of one label took to come up in one cloud.
class BootTimes {
 public:
  static constexpr std::size_t kMost = 32;  // older ones are forgotten
  using Told = std::function<void(async::Duration taken)>;

  // `told`: of what is learned.
  explicit BootTimes(Told told = {}) : told_(std::move(told)) {}

  // One took so long.
  void learn(async::Duration taken);

  // What was learned before, in seconds, the oldest first: before all that has been learned since.
  void restore(const std::vector<double>& seconds);

  const std::deque<async::Duration>& known() const { return known_; }  // the oldest first

  // Nothing as long as none has been seen. The fewer have been, the less it is sure of.
  const std::optional<Expectation>& expectation() const { return expectation_; }

 private:
  Told told_;
  std::deque<async::Duration> known_;
  std::optional<Expectation> expectation_;
};

}  // namespace nodepool::driver
