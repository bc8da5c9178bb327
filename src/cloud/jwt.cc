#include "cloud/jwt.h"

#include <openssl/evp.h>
#include <openssl/pem.h>

#include <memory>

#include "cloud/base64.h"
#include "driver/cloud_error.h"

namespace nodepool::cloud {

using driver::CloudError;

std::string signed_jwt(const std::string& private_key, const std::string& header,
                       const std::string& claims) {
  const std::unique_ptr<BIO, decltype(&::BIO_free)> pem(
      ::BIO_new_mem_buf(private_key.data(), static_cast<int>(private_key.size())), &::BIO_free);
  // Without the callback, OpenSSL would ask for the password of an encrypted key.
  const auto no_password = [](char*, int, int, void*) { return -1; };
  const std::unique_ptr<EVP_PKEY, decltype(&::EVP_PKEY_free)> key(
      ::PEM_read_bio_PrivateKey(pem.get(), nullptr, no_password, nullptr), &::EVP_PKEY_free);
  if (!key || ::EVP_PKEY_is_a(key.get(), "RSA") != 1) {
    throw CloudError(CloudError::Kind::auth, "the private key is not valid");
  }
  const std::string text = base64_url(header) + "." + base64_url(claims);
  const std::unique_ptr<EVP_MD_CTX, decltype(&::EVP_MD_CTX_free)> context(::EVP_MD_CTX_new(),
                                                                          &::EVP_MD_CTX_free);
  const auto* data = reinterpret_cast<const unsigned char*>(text.data());
  std::string signature(static_cast<std::size_t>(::EVP_PKEY_get_size(key.get())), '\0');
  std::size_t size = signature.size();
  if (::EVP_DigestSignInit(context.get(), nullptr, ::EVP_sha256(), nullptr, key.get()) != 1 ||
      ::EVP_DigestSign(context.get(), reinterpret_cast<unsigned char*>(signature.data()), &size,
                       data, text.size()) != 1) {
    throw CloudError(CloudError::Kind::auth, "error signing with the private key");
  }
  signature.resize(size);
  return text + "." + base64_url(signature);
}

}  // namespace nodepool::cloud
