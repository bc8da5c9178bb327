#pragma once

#include <string>
#include <string_view>

namespace nodepool::cli {

// A file for this user only that is there as a whole, or as it was before.
class AtomicFile {
 public:
  // Whether it can be written is known from here on. Throws std::system_error.
  explicit AtomicFile(std::string path);
  // What has not been written leaves nothing behind.
  ~AtomicFile();
  AtomicFile(const AtomicFile&) = delete;
  AtomicFile& operator=(const AtomicFile&) = delete;

  const std::string& path() const { return path_; }  // absolute

  // Puts a file with this content in its place; once. Throws std::system_error.
  void write(std::string_view content);

 private:
  std::string path_;
  std::string temporary_;  // empty: it is in its place
  int descriptor_ = -1;
};

}  // namespace nodepool::cli
