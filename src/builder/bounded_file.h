#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>

namespace nodepool::builder {

// A file with a maximum size. Of further text it keeps the end, with a note of how much is omitted.
// All functions block.
class BoundedFile {
 public:
  // Opens the file to append at most about `limit` bytes. Throws std::system_error.
  BoundedFile(const std::filesystem::path& path, std::uint64_t limit);
  // Calls write_end().
  ~BoundedFile();
  BoundedFile(const BoundedFile&) = delete;
  BoundedFile& operator=(const BoundedFile&) = delete;

  // If the disk is full, the text is lost and counted. The next successful write notes that.
  void write(std::string_view text);

  // Writes the note about omitted text and the end that was kept.
  void write_end();

  // Number of bytes that were lost because the disk was full.
  std::uint64_t lost() const { return lost_; }

 private:
  void append(std::string_view text);
  // Writes as much as fits on the disk and returns the rest.
  std::string_view put(std::string_view text);

  int descriptor_ = -1;
  std::uint64_t limit_;
  std::size_t most_kept_;   // bytes of the end
  std::uint64_t capacity_;  // left before the end
  std::uint64_t omitted_ = 0;
  std::uint64_t lost_ = 0;
  std::uint64_t reported_lost_ = 0;  // of these, noted in the file
  std::string end_{};
};

}  // namespace nodepool::builder
