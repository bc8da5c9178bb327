#pragma once

#include <span>

#include "web/embedded_file.h"

namespace nodepool::api {

// openapi.json: the description of the API (OpenAPI 3.1).
std::span<const web::EmbeddedFile> embedded_files();

}  // namespace nodepool::api
