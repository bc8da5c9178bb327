#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>

#include "builder/bounded_file.h"

namespace nodepool::builder {

// What a build's program has written: `<image>-<build id>.log`. All functions block.
class BuildLog {
 public:
  // Where the logs are, how many old ones are kept of each image, and how long one may become.
  struct Settings {
    std::filesystem::path directory;
    std::int64_t retention = 7;                      // 0 counts as 1; negative: all
    std::uint64_t limit = std::uint64_t{100} << 20;  // bytes

    // For logs of something else.
    Settings below(const std::string& name) const { return {directory / name, retention, limit}; }
  };

  // Deletes old logs of the image, then opens a new one; makes the directory. Throws
  // std::runtime_error.
  BuildLog(const Settings& settings, const std::string& image, const std::string& build_id);

  const std::filesystem::path& path() const { return path_; }

  // For what programs write; it lives for as long as somebody writes to it.
  const std::shared_ptr<BoundedFile>& file() const { return file_; }

  // Adds a line after all that has been written. A disk that is full loses it.
  void write_line(const std::string& line) const;

 private:
  std::filesystem::path path_;
  std::shared_ptr<BoundedFile> file_;
};

}  // namespace nodepool::builder
