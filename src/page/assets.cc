#include "page/assets.h"

#include <fmt/format.h>

#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "page/embedded_files.h"

namespace nodepool::page {

namespace {

constexpr std::string_view kFolder = "/page/";
constexpr std::string_view kStartPage = "index.html";

// Allows only files of this server: no inline scripts, no frames. Trusted types prevent scripts
// from turning data into markup.
constexpr std::string_view kPolicy =
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'; "
    "require-trusted-types-for 'script'; trusted-types 'none'";

std::string_view content_type(std::string_view name) {
  if (name.ends_with(".js")) return "text/javascript; charset=UTF-8";
  if (name.ends_with(".css")) return "text/css; charset=UTF-8";
  if (name.ends_with(".svg")) return "image/svg+xml";
  return "text/html; charset=UTF-8";
}

// The ETag of a file. It depends on the content only.
std::string tag_of(std::string_view text) {
  return fmt::format("\"{:x}\"", std::hash<std::string_view>()(text));
}

const web::EmbeddedFile* find(std::string_view path) {
  if (path != "/" && !path.starts_with(kFolder)) return nullptr;
  const std::string_view name = path == "/" ? kStartPage : path.substr(kFolder.size());
  for (const web::EmbeddedFile& file : embedded_files()) {
    if (file.name == name) return &file;
  }
  return nullptr;
}

}  // namespace

std::optional<web::Response> asset(const web::Request& request) {
  const web::EmbeddedFile* found = find(request.path);
  if (found == nullptr) return std::nullopt;
  const std::string tag = tag_of(found->text);
  web::Response response{200,
                         {{"Content-Type", std::string(content_type(found->name))},
                          {"Content-Security-Policy", std::string(kPolicy)},
                          {"X-Content-Type-Options", "nosniff"},
                          {"Referrer-Policy", "no-referrer"},
                          {"Cache-Control", "no-cache"},
                          {"ETag", tag}}};
  const std::string* known = request.header("if-none-match");
  if (known != nullptr && *known == tag) {
    response.status = 304;
  } else {
    response.body = std::make_shared<const std::string>(found->text);
  }
  return response;
}

}  // namespace nodepool::page
