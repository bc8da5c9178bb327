#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace nodepool::cloud {

// RFC 4648 §4, on one line.
std::string base64(std::string_view data);

// The data that such a text stands for, line breaks left out; nothing if it is none.
std::optional<std::string> base64_decoded(std::string_view text);

}  // namespace nodepool::cloud
