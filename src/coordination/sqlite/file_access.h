#pragma once

#include <sys/types.h>

#include <string>

namespace nodepool::coordination::sqlite {

// Owner, group and mode of the files of a store, taken from their directory. So a group shares a
// store if it owns the directory and may write to it, independent of any umask.
class FileAccess {
 public:
  // The current access of `directory`. If stat() fails, nothing is shared.
  static FileAccess of_directory(const std::string& directory);

  // Sets owner, group and mode of the file or directory at `path`, as far as this process may: only
  // the superuser can change the owner, and an owner can choose only groups of its own. Adds the
  // group's permissions only if the group is right. Ignores missing files and symbolic links. Does
  // not open the file: closing a descriptor of a database would drop all locks that other
  // connections of this process hold on it (POSIX record locks).
  void apply_to(const std::string& path) const;

 private:
  uid_t owner_ = 0;
  gid_t group_ = 0;
  bool known_ = false;
  bool group_writable_ = false;
};

}  // namespace nodepool::coordination::sqlite
