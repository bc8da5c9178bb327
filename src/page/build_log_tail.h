#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace nodepool::page {

// A part of a file that grows.
struct FilePart {
  std::int64_t begin = 0;  // where it begins in the file, in bytes
  std::int64_t size = 0;   // of the whole file
  std::string text = {};
};

// What the file has from `from` on, but no more than the last 64 KiB of it; nothing if there is no
// such regular file. Neither follows a link at the end of the path nor waits for a pipe. Blocks.
std::optional<FilePart> read_tail(const std::string& path, std::int64_t from);

}  // namespace nodepool::page
