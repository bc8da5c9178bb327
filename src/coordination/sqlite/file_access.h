#pragma once

#include <sys/types.h>

#include <string>

namespace nodepool::coordination::sqlite {

// Who may use the files of a store: whoever may use the directory they are in. So one group shares
// a store if the directory is its own and writable for it, whatever the umask of those who come
// first.
class FileAccess {
 public:
  // As `directory` is now; a directory that cannot be looked at shares nothing.
  static FileAccess of_directory(const std::string& directory);

  // Gives the file or directory at `path` owner, group and mode, as far as this process may: only
  // the superuser gives files away, and only the owner chooses the group, of those that he is in.
  // The group gets its rights only where the group is the right one. What is not there, and a
  // symbolic link, is left alone. The file is not opened: closing a descriptor of a database drops
  // all locks that other connections of this process hold on it (POSIX record locks).
  void give_to(const std::string& path) const;

 private:
  uid_t owner_ = 0;
  gid_t group_ = 0;
  bool known_ = false;
  bool group_writes_ = false;
};

}  // namespace nodepool::coordination::sqlite
