#include "cloud/digest.h"

#include <fmt/format.h>
#include <openssl/evp.h>

#include <stdexcept>

namespace nodepool::cloud {

namespace {

std::string digest(std::string_view data, const EVP_MD* algorithm) {
  std::string digest(EVP_MAX_MD_SIZE, '\0');
  unsigned int size = 0;
  const int done =
      ::EVP_Digest(data.data(), data.size(), reinterpret_cast<unsigned char*>(digest.data()), &size,
                   algorithm, nullptr);
  if (done != 1) throw std::runtime_error("error computing a checksum");
  digest.resize(size);
  return digest;
}

}  // namespace

std::string sha256(std::string_view data) {
  return digest(data, ::EVP_sha256());
}

std::string md5(std::string_view data) {
  return digest(data, ::EVP_md5());
}

std::string hexadecimal(std::string_view bytes) {
  std::string text;
  for (const char c : bytes) text += fmt::format("{:02x}", static_cast<unsigned char>(c));
  return text;
}

std::string sha256_hex(std::string_view data) {
  return hexadecimal(sha256(data));
}

}  // namespace nodepool::cloud
