#include "cloud/url_text.h"

#include <fmt/format.h>

#include <cctype>

namespace nodepool::cloud {

std::string url_text(std::string_view text) {
  std::string result;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (std::isalnum(byte) != 0 || std::string_view("-_.~").find(c) != std::string_view::npos) {
      result += c;
    } else {
      result += fmt::format("%{:02X}", byte);
    }
  }
  return result;
}

}  // namespace nodepool::cloud
