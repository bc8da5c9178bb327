#pragma once

#include <string>

#include "cloud/element.h"
#include "http/request.h"

namespace nodepool::cloud {

// The body of a response. Throws CloudError(failed) if it is no JSON object.
Element parse_answer(const std::string& call, const http::Response& response);

}  // namespace nodepool::cloud
