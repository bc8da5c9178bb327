#pragma once

#include <optional>
#include <string>

namespace nodepool::web {

// Formats of a body, the preferred one first.
enum class MediaType { html, text, json };

// The type that the client prefers by its Accept header (RFC 9110, 12.5.1; null: missing): the
// highest quality, among equal ones the first in the order of MediaType. A malformed header counts
// as missing, as in the Python Nodepool. Returns nothing if the client accepts none.
std::optional<MediaType> negotiate(const std::string* accept);

}  // namespace nodepool::web
