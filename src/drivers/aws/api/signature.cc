#include "drivers/aws/api/signature.h"

#include <fmt/chrono.h>
#include <fmt/format.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>

#include <algorithm>
#include <cctype>
#include <chrono>
#include <map>
#include <stdexcept>
#include <vector>

#include "cloud/digest.h"

namespace nodepool::drivers::aws {

namespace {

constexpr std::string_view kAlgorithm = "AWS4-HMAC-SHA256";

std::string hmac(std::string_view key, std::string_view data) {
  std::string digest(EVP_MAX_MD_SIZE, '\0');
  unsigned int size = 0;
  const unsigned char* made =
      ::HMAC(::EVP_sha256(), key.data(), static_cast<int>(key.size()),
             reinterpret_cast<const unsigned char*>(data.data()), data.size(),
             reinterpret_cast<unsigned char*>(digest.data()), &size);
  if (made == nullptr) throw std::runtime_error("error computing HMAC-SHA256");
  digest.resize(size);
  return digest;
}

struct UrlParts {
  std::string host;
  std::string path;  // at least "/"
  std::string query;
};

UrlParts parts_of(const std::string& url) {
  UrlParts parts;
  const std::size_t scheme = url.find("://");
  const std::size_t host = scheme == std::string::npos ? 0 : scheme + 3;
  const std::size_t path = std::min(url.find_first_of("/?", host), url.size());
  const std::size_t query = std::min(url.find('?', path), url.size());
  parts.host = url.substr(host, path - host);
  parts.path = url.substr(path, query - path);
  if (parts.path.empty()) parts.path = "/";
  if (query < url.size()) parts.query = url.substr(query + 1);
  return parts;
}

// Encoded a second time, except slashes.
std::string encoded_path(const std::string& path) {
  std::string result;
  for (const char c : path) {
    const bool is_plain = std::isalnum(static_cast<unsigned char>(c)) != 0 ||
                          std::string_view("-_.~/").find(c) != std::string_view::npos;
    if (is_plain) {
      result += c;
    } else {
      result += fmt::format("%{:02X}", static_cast<unsigned char>(c));
    }
  }
  return result;
}

// Sorted by name, then by value; a missing value becomes empty.
std::string sorted_query(const std::string& query) {
  std::vector<std::pair<std::string, std::string>> pairs;
  for (std::size_t at = 0; at < query.size();) {
    const std::size_t end = std::min(query.find('&', at), query.size());
    const std::string pair = query.substr(at, end - at);
    const std::size_t equals = std::min(pair.find('='), pair.size());
    pairs.emplace_back(pair.substr(0, equals), pair.substr(std::min(equals + 1, pair.size())));
    at = end + 1;
  }
  std::ranges::sort(pairs);
  std::string result;
  for (const auto& [name, value] : pairs) {
    if (!result.empty()) result += '&';
    result += name;
    result += '=';
    result += value;
  }
  return result;
}

// Without leading and trailing spaces, and with inner spaces collapsed.
std::string folded(std::string_view value) {
  std::string result;
  for (const char c : value) {
    const bool is_space = c == ' ' || c == '\t';
    if (is_space && (result.empty() || result.back() == ' ')) continue;
    result += is_space ? ' ' : c;
  }
  if (result.ends_with(' ')) result.pop_back();
  return result;
}

std::map<std::string, std::string> signed_headers(const http::Request& request,
                                                  const std::string& host) {
  std::map<std::string, std::string> headers = {{"host", host}};
  for (const auto& [name, value] : request.headers) {
    std::string key = name;
    std::ranges::transform(key, key.begin(),
                           [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
    if (key == "user-agent") continue;  // proxies change it
    const auto [entry, is_new] = headers.emplace(std::move(key), folded(value));
    if (!is_new) entry->second += "," + folded(value);
  }
  return headers;
}

}  // namespace

void sign(http::Request& request, const Keys& keys, const SigningScope& scope,
          std::string_view payload_hash) {
  const std::chrono::sys_seconds when{std::chrono::seconds(static_cast<std::int64_t>(scope.time))};
  const std::string time = fmt::format("{:%Y%m%dT%H%M%SZ}", when);
  const std::string date = time.substr(0, 8);
  request.headers.emplace_back("X-Amz-Date", time);
  if (scope.is_plain) request.headers.emplace_back("X-Amz-Content-Sha256", payload_hash);
  if (!keys.session_token.empty()) {
    request.headers.emplace_back("X-Amz-Security-Token", keys.session_token);
    request.secrets.push_back(keys.session_token);
  }
  request.secrets.push_back(keys.secret_access_key);

  const UrlParts url = parts_of(request.url);
  std::string canonical =
      fmt::format("{}\n{}\n{}\n", request.method,
                  scope.is_plain ? url.path : encoded_path(url.path), sorted_query(url.query));
  std::string names;
  for (const auto& [name, value] : signed_headers(request, url.host)) {
    canonical += fmt::format("{}:{}\n", name, value);
    names += names.empty() ? name : ";" + name;
  }
  canonical += fmt::format("\n{}\n{}", names, payload_hash);

  const std::string credential =
      fmt::format("{}/{}/{}/aws4_request", date, scope.region, scope.service);
  const std::string to_sign =
      fmt::format("{}\n{}\n{}\n{}", kAlgorithm, time, credential, cloud::sha256_hex(canonical));
  std::string key = hmac("AWS4" + keys.secret_access_key, date);
  for (const std::string_view part :
       {std::string_view(scope.region), std::string_view(scope.service),
        std::string_view("aws4_request")}) {
    key = hmac(key, part);
  }
  request.headers.emplace_back(
      "Authorization",
      fmt::format("{} Credential={}/{}, SignedHeaders={}, Signature={}", kAlgorithm,
                  keys.access_key_id, credential, names, cloud::hexadecimal(hmac(key, to_sign))));
}

}  // namespace nodepool::drivers::aws
