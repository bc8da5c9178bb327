#pragma once

#include <string>
#include <string_view>

namespace nodepool::cloud {

// Hashes as bytes. MD5 is for checksums of transfers only.
std::string sha256(std::string_view data);
std::string md5(std::string_view data);

// In lower-case hexadecimal.
std::string hexadecimal(std::string_view bytes);
std::string sha256_hex(std::string_view data);

}  // namespace nodepool::cloud
