#pragma once

#include <optional>
#include <string>

namespace nodepool::web {

// What a body may be in, the preferred first.
enum class MediaType { html, text, json };

// The type that the client likes best, by its Accept header (RFC 9110, 12.5.1; null: not sent): the
// highest quality, of equal ones the first in the order of MediaType. Nothing if it accepts none.
std::optional<MediaType> negotiate(const std::string* accept);

}  // namespace nodepool::web
