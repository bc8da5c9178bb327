#include "tests/support/small_disk.h"

#include <fcntl.h>
#include <sys/mount.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <system_error>

namespace nodepool::test_support {

SmallDisk::SmallDisk(const std::string& options)
    : mounted_(::mount("tmpfs", directory_.path().c_str(), "tmpfs", 0, options.c_str()) == 0) {}

SmallDisk::~SmallDisk() {
  if (mounted_) ::umount2(directory_.path().c_str(), MNT_DETACH);
}

void SmallDisk::make_read_only() {
  if (::mount(nullptr, directory_.path().c_str(), nullptr, MS_REMOUNT | MS_RDONLY, nullptr) != 0) {
    throw std::system_error(errno, std::generic_category(), "remounting " + *this / "");
  }
}

void SmallDisk::fill() {
  const std::string path = *this / "ballast";
  const int file = ::open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
  constexpr std::array<char, 4096> kPage{};
  while (::write(file, kPage.data(), kPage.size()) > 0) {
  }
  const int reason = errno;
  ::close(file);
  if (reason != ENOSPC) throw std::system_error(reason, std::generic_category(), path);
}

}  // namespace nodepool::test_support
