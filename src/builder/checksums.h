#pragma once

#include <string>

namespace nodepool::builder {

// Of a file, in hexadecimal.
struct Checksums {
  std::string md5;
  std::string sha256;
};

// Reads the whole file; blocks for as long as that takes. Throws std::runtime_error.
Checksums checksums_of(const std::string& path);

}  // namespace nodepool::builder
