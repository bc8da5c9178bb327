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
      room_(limit - most_kept_) {
  if (descriptor_ < 0) throw std::system_error(errno, std::generic_category(), path.string());
}

BoundedFile::~BoundedFile() {
  write_end();
  ::close(descriptor_);
}

void BoundedFile::write(std::string_view text) {
  const auto begin = static_cast<std::size_t>(std::min<std::uint64_t>(room_, text.size()));
  append(text.substr(0, begin));
  room_ -= begin;
  end_ += text.substr(begin);
  if (end_.size() <= 2 * most_kept_) return;  // moved once for many writes
  left_out_ += end_.size() - most_kept_;
  end_.erase(0, end_.size() - most_kept_);
}

void BoundedFile::write_end() {
  if (end_.size() > most_kept_) {
    left_out_ += end_.size() - most_kept_;
    end_.erase(0, end_.size() - most_kept_);
  }
  if (left_out_ > 0) {
    append(
        fmt::format("\n[... {} bytes are left out here: the log may have {} (build-log-limit)]\n",
                    left_out_, limit_));
  }
  append(end_);
  end_.clear();
  left_out_ = 0;
}

void BoundedFile::append(std::string_view text) {
  if (lost_ > told_lost_ && !text.empty()) {
    const std::string said = fmt::format(
        "\n[... {} bytes could not be written here: the disk was full]\n", lost_ - told_lost_);
    if (put(said).empty()) told_lost_ = lost_;
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
