#pragma once

#include <memory>
#include <string>
#include <vector>

#include "async/task.h"

namespace nodepool::async {

// Tells when files may have been written, replaced, created or removed, without looking at them
// again and again: it watches the directories that the paths, and the files that they link to, are
// in. It says too much rather than too little, so compare what matters to the caller.
class FileWatch {
 public:
  enum class Sees {
    whole_changes,  // a file counts as written when its writer has closed it
    every_write,
  };

  // The directories must exist. Throws std::system_error.
  FileWatch(const Executor& executor, const std::vector<std::string>& paths,
            Sees sees = Sees::whole_changes);
  ~FileWatch();
  FileWatch(const FileWatch&) = delete;
  FileWatch& operator=(const FileWatch&) = delete;

  // Returns after the next change, or at once if there was one since the last return. Throws
  // Cancelled, std::system_error.
  Task<> changed();

 private:
  struct Watch;
  std::unique_ptr<Watch> watch_;
};

}  // namespace nodepool::async
