#pragma once

#include <initializer_list>
#include <string>

namespace nodepool::fuzz {

// Keystone's answer to a request for a token: each of these services is at URL/TYPE.
inline std::string catalog(const std::string& url, std::initializer_list<const char*> types) {
  std::string services;
  for (const std::string type : types) {
    if (!services.empty()) services += ',';
    services += R"({"type": ")" + type +
                R"(", "endpoints": [{"interface": "public", "region": "r", "url": ")" + url + "/" +
                type + R"("}]})";
  }
  return R"({"token": {"expires_at": "2099-01-01T00:00:00Z", "catalog": [)" + services + "]}}";
}

}  // namespace nodepool::fuzz
