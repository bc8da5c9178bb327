#pragma once

#include <string>
#include <string_view>

namespace nodepool::cloud {

// Percent-encodes a text for a query or a path segment: `a b` becomes `a%20b`.
std::string url_text(std::string_view text);

}  // namespace nodepool::cloud
