#pragma once

#include <string>
#include <string_view>

namespace nodepool::cloud {

// RFC 4648 §4, on one line.
std::string base64(std::string_view data);

}  // namespace nodepool::cloud
