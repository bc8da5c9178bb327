#pragma once

#include <string>

namespace nodepool::builder {

// Checksums of a file, in hexadecimal.
struct Checksums {
  std::string md5;
  std::string sha256;
};

// Reads the whole file. Blocks. Throws std::runtime_error.
Checksums checksums_of(const std::string& path);

}  // namespace nodepool::builder
