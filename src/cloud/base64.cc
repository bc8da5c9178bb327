#include "cloud/base64.h"

#include <openssl/evp.h>

#include <algorithm>
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

std::string base64_url(std::string_view data) {
  std::string text = base64(data);
  std::ranges::replace(text, '+', '-');
  std::ranges::replace(text, '/', '_');
  text.erase(std::min(text.find('='), text.size()));
  return text;
}

std::optional<std::string> base64_decoded(std::string_view text) {
  std::string plain;
  for (const char c : text) {
    if (c != '\n' && c != '\r' && c != ' ') plain += c;
  }
  if (plain.size() % 4 != 0) return std::nullopt;
  std::string data(plain.size() / 4 * 3, '\0');
  const auto* bytes = reinterpret_cast<const unsigned char*>(plain.data());
  auto* end = reinterpret_cast<unsigned char*>(data.data());
  const int size = ::EVP_DecodeBlock(end, bytes, static_cast<int>(plain.size()));
  if (size < 0) return std::nullopt;
  // EVP_DecodeBlock() decodes padding as zeros.
  const std::size_t padding = plain.ends_with("==") ? 2 : plain.ends_with('=') ? 1 : 0;
  data.resize(static_cast<std::size_t>(size) - padding);
  return data;
}

}  // namespace nodepool::cloud
