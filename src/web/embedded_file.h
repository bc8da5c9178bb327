#pragma once

#include <string_view>

namespace nodepool::web {

// A file of the source tree whose text is part of the program; nodepool_embed (cmake/Modules.cmake)
// makes them.
struct EmbeddedFile {
  std::string_view name;  // "app.js"
  std::string_view text;
};

}  // namespace nodepool::web
