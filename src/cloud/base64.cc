#include "cloud/base64.h"

#include <openssl/evp.h>

#include <stdexcept>

namespace nodepool::cloud {

std::string base64(std::string_view data) {
  // EVP_EncodeBlock() ends the text with a NUL.
  std::string text(4 * ((data.size() + 2) / 3) + 1, '\0');
  const auto* bytes = reinterpret_cast<const unsigned char*>(data.data());
  auto* end = reinterpret_cast<unsigned char*>(text.data());
  const int size = ::EVP_EncodeBlock(end, bytes, static_cast<int>(data.size()));
  if (size < 0) throw std::runtime_error("base64: the text is too long");
  text.resize(static_cast<std::size_t>(size));
  return text;
}

}  // namespace nodepool::cloud
