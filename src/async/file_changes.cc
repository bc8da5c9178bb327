#include "async/file_changes.h"

#include <system_error>
#include <utility>

#include "async/deadline.h"

namespace nodepool::async {

namespace {

std::vector<FileStamp> stamps_of(const std::vector<std::string>& paths) {
  std::vector<FileStamp> stamps;
  stamps.reserve(paths.size());
  for (const std::string& path : paths) stamps.push_back(stamp(path));
  return stamps;
}

}  // namespace

FileChanges::FileChanges(const Runtime& runtime, std::vector<std::string> paths)
    : runtime_(runtime), paths_(std::move(paths)), seen_(stamps_of(paths_)) {
  try {
    watch_ = std::make_unique<FileWatch>(runtime_.executor, paths_);
  } catch (const std::system_error&) {  // the stamps suffice
  }
}

Task<> FileChanges::changed() {
  while (true) {
    // Reported changes count even if the stamps are equal: two writes can have the same time.
    const bool is_reported = co_await is_reported_by(runtime_.clock.now() + kPoll);
    std::vector<FileStamp> now = stamps_of(paths_);
    const bool differs = now != seen_;
    seen_ = std::move(now);
    if (is_reported || differs) co_return;
  }
}

// Waits until the kernel reports a change, at most until `when`. Returns whether it did.
Task<bool> FileChanges::is_reported_by(Clock::TimePoint when) {
  if (!watch_) {
    co_await runtime_.clock.sleep_until(when);
    co_return false;
  }
  try {
    co_await with_deadline(runtime_.clock, when, watch_->changed(), "change of a file");
  } catch (const DeadlineExceeded&) {
    co_return false;
  }
  co_return true;
}

}  // namespace nodepool::async
