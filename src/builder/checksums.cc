#include "builder/checksums.h"

#include <fmt/format.h>
#include <openssl/evp.h>

#include <array>
#include <fstream>
#include <memory>
#include <stdexcept>
#include <vector>

namespace nodepool::builder {

namespace {

constexpr std::size_t kBlock = 1 << 20;  // bytes read at a time

class Digest {
 public:
  explicit Digest(const EVP_MD* kind) : context_(EVP_MD_CTX_new(), EVP_MD_CTX_free) {
    require(EVP_DigestInit_ex(context_.get(), kind, nullptr));
  }

  void add(const char* data, std::size_t size) {
    require(EVP_DigestUpdate(context_.get(), data, size));
  }

  std::string hexadecimal() {
    std::array<unsigned char, EVP_MAX_MD_SIZE> bytes{};
    unsigned int size = 0;
    require(EVP_DigestFinal_ex(context_.get(), bytes.data(), &size));
    std::string text;
    for (unsigned int i = 0; i < size; ++i) text += fmt::format("{:02x}", bytes[i]);
    return text;
  }

 private:
  static void require(int result) {
    if (result != 1) throw std::runtime_error("OpenSSL failed to compute a checksum");
  }

  std::unique_ptr<EVP_MD_CTX, decltype(&EVP_MD_CTX_free)> context_;
};

}  // namespace

Checksums checksums_of(const std::string& path) {
  Digest md5(EVP_md5());
  Digest sha256(EVP_sha256());
  std::ifstream file(path, std::ios::binary);
  std::vector<char> block(kBlock);
  while (file) {
    file.read(block.data(), static_cast<std::streamsize>(block.size()));
    const auto size = static_cast<std::size_t>(file.gcount());
    md5.add(block.data(), size);
    sha256.add(block.data(), size);
  }
  if (!file.eof()) throw std::runtime_error("cannot read " + path);
  return {.md5 = md5.hexadecimal(), .sha256 = sha256.hexadecimal()};
}

}  // namespace nodepool::builder
