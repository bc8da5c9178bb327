#include "history/locked_file.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <system_error>
#include <utility>

namespace nodepool::history {

namespace {

// Not world-readable, as it has requestors and reasons of holds.
constexpr mode_t kMode = 0640;

[[noreturn]] void fail(const std::string& doing, const std::string& path) {
  throw std::system_error(errno, std::generic_category(), doing + " " + path);
}

struct stat status_of(int descriptor, const std::string& path) {
  struct stat status{};
  if (::fstat(descriptor, &status) != 0) fail("reading", path);
  return status;
}

}  // namespace

LockedFile::LockedFile(std::string path, int descriptor)
    : path_(std::move(path)), descriptor_(descriptor) {}

LockedFile::LockedFile(LockedFile&& other) noexcept
    : path_(std::move(other.path_)), descriptor_(std::exchange(other.descriptor_, -1)) {}

LockedFile::~LockedFile() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

std::optional<LockedFile> LockedFile::open(const std::string& path, Access access) {
  const int flags =
      access == Access::read ? O_RDONLY | O_CLOEXEC : O_RDWR | O_APPEND | O_CREAT | O_CLOEXEC;
  while (true) {
    const int descriptor = ::open(path.c_str(), flags, kMode);
    if (descriptor < 0) {
      if (errno == ENOENT && access == Access::read) return std::nullopt;
      fail("opening", path);
    }
    LockedFile file(path, descriptor);
    int result = 0;
    do {
      result = ::flock(descriptor, access == Access::read ? LOCK_SH : LOCK_EX);
    } while (result != 0 && errno == EINTR);
    if (result != 0) fail("locking", path);
    if (file.is_in_place()) return file;
  }
}

bool LockedFile::is_in_place() const {
  const struct stat own = status_of(descriptor_, path_);
  struct stat at_path{};
  return ::stat(path_.c_str(), &at_path) == 0 && own.st_dev == at_path.st_dev &&
         own.st_ino == at_path.st_ino;
}

std::int64_t LockedFile::size() const {
  return status_of(descriptor_, path_).st_size;
}

std::string LockedFile::tail(std::int64_t count) const {
  const std::int64_t end = size();
  return part(std::max<std::int64_t>(0, end - count), std::min(count, end));
}

std::string LockedFile::head(std::int64_t count) const {
  return part(0, std::min(count, size()));
}

std::string LockedFile::part(std::int64_t begin, std::int64_t count) const {
  std::string text(static_cast<std::size_t>(count), '\0');
  const ssize_t got = ::pread(descriptor_, text.data(), text.size(), begin);
  if (got < 0) fail("reading", path_);
  text.resize(static_cast<std::size_t>(got));
  return text;
}

void LockedFile::append(std::string_view text) {
  while (!text.empty()) {
    const ssize_t written = ::write(descriptor_, text.data(), text.size());
    if (written < 0) {
      if (errno == EINTR) continue;
      fail("writing", path_);
    }
    text.remove_prefix(static_cast<std::size_t>(written));
  }
}

}  // namespace nodepool::history
