#pragma once

#include <span>

#include "web/embedded_file.h"

namespace nodepool::page {

// The page's static files: all of assets/.
std::span<const web::EmbeddedFile> embedded_files();

}  // namespace nodepool::page
