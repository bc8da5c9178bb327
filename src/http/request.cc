#include "http/request.h"

#include <algorithm>
#include <array>

namespace nodepool::http {

Precedence precedence_of(const Request& request) {
  if (request.method == "DELETE") return Precedence::removal;
  const bool is_read = request.method == "GET" || request.method == "HEAD";
  return is_read ? Precedence::read : Precedence::creation;
}

bool is_repeatable(const Request& request) {
  constexpr std::array<std::string_view, 5> kIdempotent = {"GET", "HEAD", "OPTIONS", "PUT",
                                                           "DELETE"};
  if (request.repeatable != Request::Repeatable::by_method) {
    return request.repeatable == Request::Repeatable::yes;
  }
  return std::ranges::find(kIdempotent, request.method) != kIdempotent.end();
}

namespace {

constexpr std::string_view kSecret = "***";

std::string with_all_replaced(std::string_view text, std::string_view what, std::string_view with) {
  std::string result;
  for (std::size_t at = text.find(what); at != std::string_view::npos; at = text.find(what)) {
    result.append(text.substr(0, at)).append(with);
    text.remove_prefix(at + what.size());
  }
  return result.append(text);
}

// Escapes quotes, backslashes and control characters as in JSON.
std::string escaped(std::string_view secret) {
  std::string text;
  for (const char c : secret) {
    switch (c) {
      case '"':
      case '\\':
        text.append({'\\', c});
        break;
      case '\n':
        text += "\\n";
        break;
      case '\t':
        text += "\\t";
        break;
      default:
        text += c;
    }
  }
  return text;
}

}  // namespace

std::string without_secrets(std::string text, const std::vector<std::string>& secrets) {
  for (const std::string& secret : secrets) {
    if (secret.empty()) continue;
    text = with_all_replaced(text, secret, kSecret);
    const std::string json = escaped(secret);
    if (json != secret) text = with_all_replaced(text, json, kSecret);
  }
  return text;
}

std::string without_credentials(std::string_view url) {
  url = url.substr(0, url.find_first_of("?#"));
  const std::size_t slashes = url.find("//");
  if (slashes == std::string_view::npos) return std::string(url);
  const std::size_t host = slashes + 2;
  const std::size_t user_end = url.substr(0, url.find('/', host)).rfind('@');
  if (user_end == std::string_view::npos) return std::string(url);
  return std::string(url.substr(0, host)).append(url.substr(user_end + 1));
}

std::string_view Response::header(std::string_view name) const {
  const auto found = std::ranges::find(headers, name, &Headers::value_type::first);
  return found == headers.end() ? std::string_view() : std::string_view(found->second);
}

}  // namespace nodepool::http
