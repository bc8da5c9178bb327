#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace nodepool::telemetry {

// Escapes untrusted text for a terminal: control characters other than newline and tab, and bytes
// that are not UTF-8, become escapes ("\x1b").
std::string sanitized_text(std::string_view text);

// The same for one line of a log: newlines and tabs become escapes, too.
std::string sanitized_line(std::string_view text);

// The number of bytes at the end of the text that are the start of an incomplete character.
std::size_t unfinished_character(std::string_view text);

}  // namespace nodepool::telemetry
