#pragma once

#include <optional>
#include <span>
#include <string_view>

#include "web/message.h"

namespace nodepool::page {

// A file of the page; see CMakeLists.txt.
struct AssetText {
  std::string_view name;  // "app.js"
  std::string_view text;
};
std::span<const AssetText> asset_texts();

// The answer to a request for one of the page's own files: "/", or "/page/<name>". They say nothing
// of the site: whoever may open the port may have them. Nothing for other paths.
std::optional<web::Response> asset(const web::Request& request);

}  // namespace nodepool::page
