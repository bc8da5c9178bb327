#include "builder/sending_progress.h"

#include <algorithm>
#include <chrono>

namespace nodepool::builder {

namespace {

constexpr auto kLogInterval = std::chrono::seconds(30);
constexpr int kAll = 100;  // percent

}  // namespace

SendingProgress::SendingProgress(const async::Clock& clock, std::uint64_t size)
    : clock_(clock), size_(size), next_line_(clock.now() + kLogInterval) {}

void SendingProgress::sent(std::uint64_t bytes) {
  const double part =
      size_ == 0 ? 1 : static_cast<double>(std::min(bytes, size_)) / static_cast<double>(size_);
  percent_ = static_cast<int>(kAll * part);
}

bool SendingProgress::take_line() {
  if (clock_.now() < next_line_) return false;
  next_line_ = clock_.now() + kLogInterval;
  return true;
}

}  // namespace nodepool::builder
