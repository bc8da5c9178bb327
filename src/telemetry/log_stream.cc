#include "telemetry/log_stream.h"

#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstddef>
#include <stdexcept>
#include <system_error>

namespace nodepool::telemetry {

namespace {

constexpr std::chrono::milliseconds kNoTime{0};

}  // namespace

void LogStream::write(std::string_view text) {
  const Clock::time_point deadline = Clock::now() + (is_stalled_ ? kNoTime : patience_);
  if (is_torn_) append("\n", deadline);
  append(text, deadline);
}

// After poll(), a pipe takes PIPE_BUF bytes without blocking, unless another process fills it
// first. The descriptor stays blocking: those processes share this mode.
void LogStream::append(std::string_view text, Clock::time_point deadline) {
  while (!text.empty()) {
    await_reader(deadline);
    const std::size_t size = std::min<std::size_t>(text.size(), PIPE_BUF);
    const ssize_t written = ::write(descriptor_, text.data(), size);
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) throw std::system_error(errno, std::generic_category());
    const auto count = static_cast<std::size_t>(written);
    if (count > 0) is_torn_ = text[count - 1] != '\n';
    text.remove_prefix(count);
  }
}

void LogStream::await_reader(Clock::time_point deadline) {
  pollfd entry{.fd = descriptor_, .events = POLLOUT, .revents = 0};
  int ready = 0;
  do {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - Clock::now());
    const auto timeout = patience_ < kNoTime ? patience_ : std::max(left, kNoTime);
    ready = ::poll(&entry, 1, static_cast<int>(timeout.count()));
  } while (ready < 0 && errno == EINTR);
  is_stalled_ = ready <= 0;
  if (is_stalled_) throw std::runtime_error("its reader has stalled");
}

}  // namespace nodepool::telemetry
