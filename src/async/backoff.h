#pragma once

#include <algorithm>

#include "async/clock.h"

namespace nodepool::async {

// The pauses between attempts at what keeps failing: the first one, then twice as long each time,
// up to the longest.
class Backoff {
 public:
  Backoff(Duration first, Duration longest) : first_(first), longest_(longest) {}

  // It has failed again: how long to leave it alone.
  Duration failed() {
    pause_ = std::clamp(2 * pause_, first_, longest_);
    return pause_;
  }

  // It has succeeded, or is another thing from now on.
  void reset() { pause_ = {}; }

  // The last pause; none if it has not failed.
  Duration pause() const { return pause_; }
  bool has_failed() const { return pause_ > Duration::zero(); }

 private:
  Duration first_;
  Duration longest_;
  Duration pause_{};
};

}  // namespace nodepool::async
