#pragma once

#include <string_view>

namespace nodepool::api {

// What the API takes and answers, as an OpenAPI 3.1 document (JSON).
std::string_view openapi_document();

}  // namespace nodepool::api
