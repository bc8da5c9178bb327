#pragma once

#include <string>
#include <string_view>

namespace nodepool::cli {

// A temporary directory with mode 0700. The destructor removes it with its content.
class PrivateDirectory {
 public:
  // Creates it in `parent`. Throws std::system_error.
  explicit PrivateDirectory(const std::string& parent);
  ~PrivateDirectory();
  PrivateDirectory(const PrivateDirectory&) = delete;
  PrivateDirectory& operator=(const PrivateDirectory&) = delete;

  // The path of a file in it.
  std::string path_of(std::string_view name) const;

  // Writes a file into it. Throws std::system_error.
  void write(std::string_view name, std::string_view content) const;

 private:
  std::string path_;
};

}  // namespace nodepool::cli
