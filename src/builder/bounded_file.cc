#include "builder/bounded_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <system_error>

namespace nodepool::builder {

namespace {

constexpr mode_t kLogMode = 0644;

constexpr std::uint64_t kMostKept = std::uint64_t{1} << 20;

}  // namespace

BoundedFile::BoundedFile(const std::filesystem::path& path, std::uint64_t limit)
    : descriptor_(::open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, kLogMode)),
      limit_(limit),
      most_kept_(std::min(limit / 2, kMostKept)),
      capacity_(limit - most_kept_) {
  if (descriptor_ < 0) throw std::system_error(errno, std::generic_category(), path.string());
}

BoundedFile::~BoundedFile() {
  write_end();
  ::close(descriptor_);
}

void BoundedFile::write(std::string_view text) {
  const auto begin = static_cast<std::size_t>(std::min<std::uint64_t>(capacity_, text.size()));
  append(text.substr(0, begin));
  capacity_ -= begin;
  end_ += text.substr(begin);
  if (end_.size() <= 2 * most_kept_) return;  // moved once for many writes
  omitted_ += end_.size() - most_kept_;
  end_.erase(0, end_.size() - most_kept_);
}

void BoundedFile::write_end() {
  if (end_.size() > most_kept_) {
    omitted_ += end_.size() - most_kept_;
    end_.erase(0, end_.size() - most_kept_);
  }
  if (omitted_ > 0) {
    append(
        fmt::format("\n[... {} bytes omitted: the log is limited to {} bytes (build-log-limit)]\n",
                    omitted_, limit_));
  }
  append(end_);
  end_.clear();
  omitted_ = 0;
}

void BoundedFile::append(std::string_view text) {
  if (lost_ > reported_lost_ && !text.empty()) {
    const std::string note =
        fmt::format("\n[... {} bytes lost: the disk was full]\n", lost_ - reported_lost_);
    if (put(note).empty()) reported_lost_ = lost_;
  }
  lost_ += put(text).size();
}

std::string_view BoundedFile::put(std::string_view text) {
  while (!text.empty()) {
    const ssize_t size = ::write(descriptor_, text.data(), text.size());
    if (size < 0 && errno == EINTR) continue;
    if (size <= 0) break;
    text.remove_prefix(static_cast<std::size_t>(size));
  }
  return text;
}

}  // namespace nodepool::builder
