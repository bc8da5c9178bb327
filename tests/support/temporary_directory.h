#pragma once

#include <filesystem>
#include <string>
#include <string_view>

namespace nodepool::test_support {

// A temporary directory, removed with its content on destruction.
class TemporaryDirectory {
 public:
  // Throws std::system_error.
  TemporaryDirectory();
  ~TemporaryDirectory();
  TemporaryDirectory(const TemporaryDirectory&) = delete;
  TemporaryDirectory& operator=(const TemporaryDirectory&) = delete;

  const std::filesystem::path& path() const { return path_; }

  // Writes a file in it, creating parent directories, and returns its path. Throws
  // std::system_error.
  std::filesystem::path write(const std::filesystem::path& name, std::string_view content) const;

 private:
  std::filesystem::path path_;
};

// The content of a file. Throws std::system_error.
std::string read_file(const std::filesystem::path& path);

}  // namespace nodepool::test_support
