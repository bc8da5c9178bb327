#include "async/file_stamp.h"

#include <sys/stat.h>

namespace nodepool::async {

FileStamp stamp(const std::string& path) {
  struct stat status{};
  if (::stat(path.c_str(), &status) != 0) return {};
  constexpr std::int64_t kNanosecondsPerSecond = 1'000'000'000;
  return {.exists = true,
          .modified = status.st_mtim.tv_sec * kNanosecondsPerSecond + status.st_mtim.tv_nsec,
          .size = static_cast<std::uint64_t>(status.st_size),
          .device = status.st_dev,
          .inode = status.st_ino};
}

}  // namespace nodepool::async
