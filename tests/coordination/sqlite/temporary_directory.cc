#include "tests/coordination/sqlite/temporary_directory.h"

#include <stdlib.h>
#include <sys/mount.h>

#include <cerrno>
#include <system_error>

namespace nodepool::coordination::sqlite {

TemporaryDirectory::TemporaryDirectory() {
  std::string name = std::filesystem::temp_directory_path() / "nodepool-sqlite-XXXXXX";
  if (::mkdtemp(name.data()) == nullptr) {
    throw std::system_error(errno, std::generic_category(), name);
  }
  path_ = name;
}

TemporaryDirectory::~TemporaryDirectory() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

SmallDisk::SmallDisk(const std::string& options)
    : mounted_(::mount("tmpfs", directory_.path().c_str(), "tmpfs", 0, options.c_str()) == 0) {}

SmallDisk::~SmallDisk() {
  if (mounted_) ::umount2(directory_.path().c_str(), MNT_DETACH);
}

void SmallDisk::make_read_only() {
  if (::mount(nullptr, directory_.path().c_str(), nullptr, MS_REMOUNT | MS_RDONLY, nullptr) != 0) {
    throw std::system_error(errno, std::generic_category(), "remounting " + directory_.path());
  }
}

}  // namespace nodepool::coordination::sqlite
