#pragma once

#include <memory>
#include <string>
#include <vector>

#include "async/task.h"

namespace nodepool::async {

// Reports that files may have been written, replaced, created or removed, with inotify. Follows a
// path by name, through all symbolic links, and also if a part of it does not exist yet. It may
// report too much, so compare the content. It misses changes that the kernel does not report: by
// other hosts on a network file system, and in unreadable directories.
class FileWatch {
 public:
  enum class Sees {
    whole_changes,  // a file is written when its writer has closed it
    every_write,
  };

  // Throws std::system_error.
  explicit FileWatch(const Executor& executor, std::vector<std::string> paths = {},
                     Sees sees = Sees::whole_changes);
  ~FileWatch();
  FileWatch(const FileWatch&) = delete;
  FileWatch& operator=(const FileWatch&) = delete;

  // Replaces the paths.
  void follow(std::vector<std::string> paths);

  // Waits for a change since the last return. Throws Cancelled.
  Task<> changed();

 private:
  struct Watch;
  std::unique_ptr<Watch> watch_;
};

}  // namespace nodepool::async
