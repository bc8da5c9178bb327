#pragma once

#include <cstdint>

#include "async/clock.h"

namespace nodepool::builder {

// How much of a file has been sent, and when that is worth a line in the log.
class SendingProgress {
 public:
  // It is about to be sent. `size` in bytes; the clock outlives this.
  SendingProgress(const async::Clock& clock, std::uint64_t size);

  // Bytes so far; fewer than before if the cloud wants it all again.
  void sent(std::uint64_t bytes);
  int percent() const { return percent_; }

  // Whether a line is due: one each half minute. Who asks has written it.
  bool take_line();

 private:
  const async::Clock& clock_;
  std::uint64_t size_;
  int percent_ = 0;
  async::Clock::TimePoint next_line_;
};

}  // namespace nodepool::builder
