#pragma once

#include <string>
#include <string_view>

namespace nodepool::cli {

// A file with mode 0600 that is replaced atomically. If the path is a link, the file to which it
// leads is replaced.
class AtomicFile {
 public:
  // Creates the temporary file. Throws std::system_error if the path cannot be written, and
  // std::runtime_error if there is something else than a regular file.
  explicit AtomicFile(std::string path);
  // Removes the temporary file, if it has not been written.
  ~AtomicFile();
  AtomicFile(const AtomicFile&) = delete;
  AtomicFile& operator=(const AtomicFile&) = delete;

  const std::string& path() const { return path_; }      // absolute
  const std::string& target() const { return target_; }  // the same, without links

  // Replaces the file by one with this content. Call it once. Throws std::system_error.
  void write(std::string_view content);

 private:
  std::string path_;
  std::string target_;
  std::string temporary_;  // empty: renamed
  int descriptor_ = -1;
};

}  // namespace nodepool::cli
