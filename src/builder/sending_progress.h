#pragma once

#include <cstdint>

#include "async/clock.h"

namespace nodepool::builder {

// Progress of an upload, and when to log it.
class SendingProgress {
 public:
  // `size` in bytes. The clock outlives this.
  SendingProgress(const async::Clock& clock, std::uint64_t size);

  // Sets the number of bytes sent. It decreases if the upload starts over.
  void sent(std::uint64_t bytes);
  int percent() const { return percent_; }

  // Whether to log the progress now: returns true at most every 30 seconds.
  bool take_line();

 private:
  const async::Clock& clock_;
  std::uint64_t size_;
  int percent_ = 0;
  async::Clock::TimePoint next_line_;
};

}  // namespace nodepool::builder
