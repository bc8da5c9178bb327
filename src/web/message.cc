#include "web/message.h"

#include <fmt/format.h>

#include <charconv>
#include <optional>
#include <ranges>

#include "telemetry/sanitized_text.h"

namespace nodepool::web {

namespace {

// RFC 3986, 2.1; in forms '+' is a space.
std::optional<std::string> decoded(std::string_view text, bool is_form) {
  std::string result;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '+' && is_form) {
      result += ' ';
    } else if (text[i] == '%') {
      unsigned value = 0;
      const std::string_view digits = text.substr(i + 1, 2);
      const auto [end, error] =
          std::from_chars(digits.data(), digits.data() + digits.size(), value, 16);
      if (digits.size() < 2 || error != std::errc() || end != digits.data() + 2)
        return std::nullopt;
      result += static_cast<char>(value);
      i += 2;
    } else {
      result += text[i];
    }
  }
  return result;
}

}  // namespace

std::string escaped(std::string_view text) {
  std::string result;
  for (const char c : text) {
    const bool is_plain = (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') ||
                          (c >= 'A' && c <= 'Z') || c == '-' || c == '_' || c == '.' || c == '~';
    if (is_plain) {
      result += c;
    } else {
      result += fmt::format("%{:02X}", static_cast<unsigned char>(c));
    }
  }
  return result;
}

const std::string* Request::header(const std::string& lower_case_name) const {
  const auto found = headers.find(lower_case_name);
  return found == headers.end() ? nullptr : &found->second;
}

const std::string* Request::parameter(std::string_view name) const {
  for (const auto& [key, value] : std::views::reverse(parameters)) {
    if (key == name) return &value;
  }
  return nullptr;
}

Response text_page(std::string text, std::string_view content_type) {
  return {200,
          {{"Content-Type", std::string(content_type)}},
          std::make_shared<const std::string>(std::move(text))};
}

void make_private(Response& response) {
  std::erase_if(response.headers, [](const auto& header) {
    return header.first == "Access-Control-Allow-Origin" || header.first == "Cache-Control" ||
           header.first == "Content-Security-Policy";  // the server's default is strict
  });
  response.headers.emplace_back("Cache-Control", "no-store");
}

std::string request_summary(const Request& request) {
  constexpr std::size_t kLongestMethod = 20;
  constexpr std::size_t kLongestPath = 200;
  // Decoded: a newline in the path would begin another entry of the log.
  const std::string method = telemetry::sanitized_line(request.method);
  const std::string path = telemetry::sanitized_line(request.path);
  return fmt::format("{} {}{}", method.substr(0, kLongestMethod), path.substr(0, kLongestPath),
                     path.size() > kLongestPath ? "…" : "");
}

bool parse_target(std::string_view target, Request& request) {
  const std::size_t question = target.find('?');
  std::optional<std::string> path = decoded(target.substr(0, question), /*is_form=*/false);
  if (!path || !path->starts_with('/')) return false;
  request.path = std::move(*path);
  if (question != std::string_view::npos) add_parameters(target.substr(question + 1), request);
  return true;
}

void add_parameters(std::string_view form, Request& request) {
  while (!form.empty() && request.parameters.size() <= kMostParameters) {
    const std::size_t end = std::min(form.find('&'), form.size());
    const std::string_view pair = form.substr(0, end);
    form.remove_prefix(std::min(end + 1, form.size()));
    const std::size_t equals = std::min(pair.find('='), pair.size());
    const std::string_view value = pair.substr(std::min(equals + 1, pair.size()));
    auto name = decoded(pair.substr(0, equals), /*is_form=*/true);
    auto text = decoded(value, /*is_form=*/true);
    if (pair.empty() || !name || !text) continue;
    request.parameters.emplace_back(std::move(*name), std::move(*text));
  }
}

}  // namespace nodepool::web
