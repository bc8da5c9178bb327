#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace nodepool::web {

// "Mon, 23 Nov 2026 04:00:00 GMT" (RFC 9110, 5.6.7) for seconds since the epoch, and back. Parsing
// returns nothing for invalid dates and for the obsolete formats.
std::string http_date(std::int64_t seconds);
std::optional<std::int64_t> parse_http_date(const std::string& text);

}  // namespace nodepool::web
