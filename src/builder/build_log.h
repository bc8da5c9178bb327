#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>

#include "builder/bounded_file.h"

namespace nodepool::builder {

// The log of a build: `<image>-<build id>.log`. All functions block.
class BuildLog {
 public:
  // Directory of the logs, number of logs kept for each image, and maximum size of a log.
  struct Settings {
    std::filesystem::path directory;
    std::int64_t retention = 7;                      // 0 counts as 1; negative: all
    std::uint64_t limit = std::uint64_t{100} << 20;  // bytes
    // All users may read new logs and new directories, whatever the umask. As with the Python
    // Nodepool, web servers can serve them.
    bool is_public = true;

    // The same settings for a subdirectory. The umask decides who may read it and its logs.
    Settings below(const std::string& name) const {
      return {directory / name, retention, limit, /*is_public=*/false};
    }
  };

  // Creates the directory, deletes old logs of the image, and opens a new one. Throws
  // std::runtime_error.
  BuildLog(const Settings& settings, const std::string& image, const std::string& build_id);

  // Discards all text, because of `problem`.
  explicit BuildLog(const std::string& problem);

  const std::filesystem::path& path() const { return path_; }

  // Why old logs remain, or all text is discarded; empty: neither.
  const std::string& problem() const { return problem_; }

  // The file for the output of programs.
  const std::shared_ptr<BoundedFile>& file() const { return file_; }

  // Appends a line. It is lost if the disk is full.
  void write_line(const std::string& line) const;

 private:
  std::filesystem::path path_;
  std::string problem_;
  std::shared_ptr<BoundedFile> file_;
};

// Opens a log for a program that must run in any case: without a log, its output is discarded.
// Blocks.
std::shared_ptr<const BuildLog> open_or_discard(const BuildLog::Settings& settings,
                                                const std::string& image,
                                                const std::string& build_id);

}  // namespace nodepool::builder
