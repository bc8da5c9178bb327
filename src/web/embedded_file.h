#pragma once

#include <string_view>

namespace nodepool::web {

// A file of the source tree that nodepool_embed (cmake/Modules.cmake) embeds in the program.
struct EmbeddedFile {
  std::string_view name;  // "app.js"
  std::string_view text;
};

}  // namespace nodepool::web
