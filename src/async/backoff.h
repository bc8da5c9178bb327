#pragma once

#include <algorithm>

#include "async/clock.h"

namespace nodepool::async {

// Exponential backoff: the pauses between retries, doubled each time up to the longest.
class Backoff {
 public:
  Backoff(Duration first, Duration longest) : first_(first), longest_(longest) {}

  // Records a failure and returns the pause before the retry.
  Duration failed() {
    pause_ = std::clamp(2 * pause_, first_, longest_);
    return pause_;
  }

  // Starts again, after a success.
  void reset() { pause_ = {}; }

  // The last pause; zero without a failure.
  Duration pause() const { return pause_; }
  bool has_failed() const { return pause_ > Duration::zero(); }

 private:
  Duration first_;
  Duration longest_;
  Duration pause_{};
};

}  // namespace nodepool::async
