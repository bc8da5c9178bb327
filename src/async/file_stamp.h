#pragma once

#include <cstdint>
#include <string>

namespace nodepool::async {

// Detects changes of a file: two stamps of an unchanged file are equal. Also detects an older file
// that was moved into place.
struct FileStamp {
  bool exists = false;
  std::int64_t modified = 0;  // nanoseconds since the epoch
  std::int64_t changed = 0;   // the same, also of its owner and mode
  std::uint64_t size = 0;     // bytes
  std::uint64_t device = 0;
  std::uint64_t inode = 0;

  friend bool operator==(const FileStamp&, const FileStamp&) = default;
};

// The current stamp of the file. `exists` is false if stat() fails.
FileStamp stamp(const std::string& path);

}  // namespace nodepool::async
