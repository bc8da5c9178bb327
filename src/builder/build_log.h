#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

namespace nodepool::builder {

// What a build's program has written: `<image>-<build id>.log`. All functions block.
class BuildLog {
 public:
  // Where the logs are, and how many old ones are kept of each image.
  struct Place {
    std::filesystem::path directory;
    std::int64_t retention = 7;  // 0 counts as 1; negative: all
  };

  // Deletes old logs of the image, then opens a new one; makes the directory. Throws
  // std::runtime_error.
  BuildLog(const Place& place, const std::string& image, const std::string& build_id);
  ~BuildLog();
  BuildLog(const BuildLog&) = delete;
  BuildLog& operator=(const BuildLog&) = delete;

  const std::filesystem::path& path() const { return path_; }
  // For the program: appends.
  int descriptor() const { return descriptor_; }

  // Adds a line. A disk that is full loses it.
  void write_line(const std::string& line) const;

 private:
  std::filesystem::path path_;
  int descriptor_ = -1;
};

}  // namespace nodepool::builder
