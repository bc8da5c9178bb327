#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>

namespace nodepool::builder {

// A file that does not become larger than it may: of what is written beyond that it keeps the end,
// and says how much it has left out. All functions block.
class BoundedFile {
 public:
  // Appends to the file, at most about `limit` bytes. Throws std::system_error.
  BoundedFile(const std::filesystem::path& path, std::uint64_t limit);
  // As write_end().
  ~BoundedFile();
  BoundedFile(const BoundedFile&) = delete;
  BoundedFile& operator=(const BoundedFile&) = delete;

  // What the disk has no room for is lost, and counted; what can be written next says so.
  void write(std::string_view text);

  // Writes what has been kept of the end, and what has been left out before that.
  void write_end();

  // Bytes that have been lost.
  std::uint64_t lost() const { return lost_; }

 private:
  void append(std::string_view text);
  // Writes as much of it as there is room for, and returns the rest.
  std::string_view put(std::string_view text);

  int descriptor_ = -1;
  std::uint64_t limit_;
  std::size_t most_kept_;  // bytes of the end
  std::uint64_t room_;     // before the end
  std::uint64_t left_out_ = 0;
  std::uint64_t lost_ = 0;
  std::uint64_t told_lost_ = 0;  // of these, in the file
  std::string end_{};
};

}  // namespace nodepool::builder
