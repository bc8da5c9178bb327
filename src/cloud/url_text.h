#pragma once

#include <string>
#include <string_view>

namespace nodepool::cloud {

// Text as it stands in a query or a part of a path: `a b` is `a%20b`.
std::string url_text(std::string_view text);

}  // namespace nodepool::cloud
