#include "cloud/base64.h"

#include <cstdint>

namespace nodepool::cloud {

std::string base64(std::string_view data) {
  constexpr std::string_view kDigits =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string text;
  for (std::size_t at = 0; at < data.size(); at += 3) {
    const std::string_view group = data.substr(at, 3);
    std::uint32_t bits = 0;
    for (std::size_t i = 0; i < 3; ++i) {
      bits = bits << 8U | (i < group.size() ? static_cast<unsigned char>(group[i]) : 0U);
    }
    for (std::size_t i = 0; i < 4; ++i) {
      text += i <= group.size() ? kDigits[bits >> (18U - 6U * i) & 63U] : '=';
    }
  }
  return text;
}

}  // namespace nodepool::cloud
