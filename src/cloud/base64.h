#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace nodepool::cloud {

// Encodes data (RFC 4648 §4), on one line.
std::string base64(std::string_view data);

// Encodes data for URLs and JWTs (RFC 4648 §5), without padding.
std::string base64_url(std::string_view data);

// Decodes base64, ignoring line breaks and spaces. Returns nothing if the text is invalid.
std::optional<std::string> base64_decoded(std::string_view text);

}  // namespace nodepool::cloud
