#pragma once

#include <memory>
#include <string>
#include <vector>

#include "async/task.h"

namespace nodepool::async {

// Tells when files may have been written, replaced, created or removed, without looking at them
// again and again. A path is followed by its name: through all links on the way, to the file that
// it leads to at that time, and also where a part of it does not exist yet. It may say too much
// (compare what matters to the caller), and says nothing of what the kernel does not see: changes
// that other hosts make on a network file system, and those in directories that may not be read.
class FileWatch {
 public:
  enum class Sees {
    whole_changes,  // a file counts as written when its writer has closed it
    every_write,
  };

  // Throws std::system_error.
  explicit FileWatch(const Executor& executor, std::vector<std::string> paths = {},
                     Sees sees = Sees::whole_changes);
  ~FileWatch();
  FileWatch(const FileWatch&) = delete;
  FileWatch& operator=(const FileWatch&) = delete;

  // Follows these paths instead.
  void follow(std::vector<std::string> paths);

  // Returns after the next change, or at once if there was one since the last return. Throws
  // Cancelled.
  Task<> changed();

 private:
  struct Watch;
  std::unique_ptr<Watch> watch_;
};

}  // namespace nodepool::async
