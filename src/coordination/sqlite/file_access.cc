#include "coordination/sqlite/file_access.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "coordination/sqlite/live_directory.h"

namespace nodepool::coordination::sqlite {

namespace {

constexpr mode_t kOwnersFile = S_IRUSR | S_IWUSR;
constexpr mode_t kSharedFile = kOwnersFile | S_IRGRP | S_IWGRP;
// With the set-group-id bit, new files get the directory's group.
constexpr mode_t kOwnersDirectory = S_IRWXU;
constexpr mode_t kSharedDirectory = S_IRWXU | S_IRWXG | S_ISGID;
constexpr mode_t kAllModes = 07777;

// chmod() does not accept an O_PATH descriptor, but its name in /proc.
std::string name_of(const Descriptor& file) {
  return "/proc/self/fd/" + std::to_string(file.number());
}

}  // namespace

FileAccess FileAccess::of_directory(const std::string& directory) {
  FileAccess access;
  struct stat status{};
  if (::stat(directory.c_str(), &status) != 0) return access;
  access.owner_ = status.st_uid;
  access.group_ = status.st_gid;
  access.known_ = true;
  access.group_writable_ = (status.st_mode & S_IWGRP) != 0;
  return access;
}

void FileAccess::apply_to(const std::string& path) const {
  if (!known_) return;
  const Descriptor file(::open(path.c_str(), O_PATH | O_NOFOLLOW | O_CLOEXEC));
  struct stat status{};
  if (!file.is_open() || ::fstat(file.number(), &status) != 0) return;
  if (!S_ISREG(status.st_mode) && !S_ISDIR(status.st_mode)) return;
  const bool superuser = ::geteuid() == 0;
  if (!superuser && status.st_uid != ::geteuid()) return;
  const uid_t owner = superuser ? owner_ : status.st_uid;
  if (status.st_uid != owner || status.st_gid != group_) {
    const bool given = ::fchownat(file.number(), "", owner, group_, AT_EMPTY_PATH) == 0;
    if (!given || ::fstat(file.number(), &status) != 0) return;
  }
  const bool is_directory = S_ISDIR(status.st_mode);
  const mode_t owners = is_directory ? kOwnersDirectory : kOwnersFile;
  const mode_t shared = is_directory ? kSharedDirectory : kSharedFile;
  const mode_t present = status.st_mode & kAllModes;
  const mode_t mode = present | (group_writable_ ? shared : owners);  // never revokes permissions
  if (present == mode) return;
  ::chmod(name_of(file).c_str(), mode);  // best effort
}

}  // namespace nodepool::coordination::sqlite
