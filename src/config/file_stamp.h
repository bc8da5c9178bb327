#pragma once

#include <cstdint>
#include <string>

namespace nodepool::config {

// Tells whether a file has changed: two stamps of an unchanged file are equal. Unlike a comparison
// by age it also sees an older file that was moved into place.
struct FileStamp {
  bool exists = false;
  std::int64_t modified = 0;  // nanoseconds since the epoch
  std::uint64_t size = 0;     // bytes
  std::uint64_t device = 0;
  std::uint64_t inode = 0;

  friend bool operator==(const FileStamp&, const FileStamp&) = default;
};

// The stamp of the file now. A file that is absent or cannot be looked at has `exists` false.
FileStamp stamp(const std::string& path);

}  // namespace nodepool::config
