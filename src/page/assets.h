#pragma once

#include <optional>

#include "web/message.h"

namespace nodepool::page {

// The response to a request for one of the page's static files: "/" or "/page/<name>". They contain
// no data of the installation and need no token. Returns nothing for other paths.
std::optional<web::Response> asset(const web::Request& request);

}  // namespace nodepool::page
