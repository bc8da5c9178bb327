#include "cloud/url_text.h"

#include <curl/curl.h>

#include <memory>
#include <new>

namespace nodepool::cloud {

std::string url_text(std::string_view text) {
  if (text.empty()) return {};  // a length of 0 would mean strlen()
  const std::unique_ptr<char, decltype(&::curl_free)> escaped(
      ::curl_easy_escape(nullptr, text.data(), static_cast<int>(text.size())), &::curl_free);
  if (!escaped) throw std::bad_alloc();
  return escaped.get();
}

}  // namespace nodepool::cloud
