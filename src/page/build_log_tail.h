#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace nodepool::page {

// A part of a file.
struct FilePart {
  std::int64_t begin = 0;  // offset in the file, in bytes
  std::int64_t size = 0;   // of the whole file, in bytes
  std::string text = {};
};

// The content of the file from offset `from` on, at most its last 64 KiB. Returns nothing if the
// path is not a regular file; symbolic links are not followed. Blocks.
std::optional<FilePart> read_tail(const std::string& path, std::int64_t from);

}  // namespace nodepool::page
