#pragma once

#include <optional>

#include "web/message.h"

namespace nodepool::page {

// The answer to a request for one of the page's own files: "/", or "/page/<name>". They say nothing
// of the site: whoever may open the port may have them. Nothing for other paths.
std::optional<web::Response> asset(const web::Request& request);

}  // namespace nodepool::page
