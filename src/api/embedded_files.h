#pragma once

#include <span>

#include "web/embedded_file.h"

namespace nodepool::api {

// openapi.json: what the API takes and answers, as an OpenAPI 3.1 document.
std::span<const web::EmbeddedFile> embedded_files();

}  // namespace nodepool::api
