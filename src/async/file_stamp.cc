#include "async/file_stamp.h"

#include <sys/stat.h>

namespace nodepool::async {

FileStamp stamp(const std::string& path) {
  struct stat status{};
  if (::stat(path.c_str(), &status) != 0) return {};
  const auto nanoseconds = [](const timespec& time) {
    constexpr std::int64_t kNanosecondsPerSecond = 1'000'000'000;
    return time.tv_sec * kNanosecondsPerSecond + time.tv_nsec;
  };
  return {.exists = true,
          .modified = nanoseconds(status.st_mtim),
          .changed = nanoseconds(status.st_ctim),
          .size = static_cast<std::uint64_t>(status.st_size),
          .device = status.st_dev,
          .inode = status.st_ino};
}

}  // namespace nodepool::async
