#pragma once

#include <string>

namespace nodepool::program {

// The pid file of a daemon in the background: one line, the process id; removed at the end.
class PidFile {
 public:
  // Fails if the file names a process that is alive; a file left by one that is not is replaced.
  // Call it before going to the background, so that the user sees the error. Throws
  // std::runtime_error.
  static void require_free(const std::string& path);

  // Writes the file, mode 0644. Throws std::runtime_error.
  explicit PidFile(std::string path);
  ~PidFile();
  PidFile(const PidFile&) = delete;
  PidFile& operator=(const PidFile&) = delete;

 private:
  std::string path_;
};

// Goes to the background: a new session, working directory "/", standard streams on /dev/null. The
// calling process exits; what returns is its grandchild. Call it before any thread or event loop
// exists. Throws std::system_error.
void detach();

}  // namespace nodepool::program
