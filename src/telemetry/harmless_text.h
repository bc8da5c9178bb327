#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace nodepool::telemetry {

// The text as it may be shown on a terminal, whoever has written it: control characters other than
// newline and tab, and bytes that are no UTF-8, become escapes ("\x1b").
std::string harmless_text(std::string_view text);

// How many bytes at the end of the text are the beginning of a character whose rest may follow.
std::size_t unfinished_character(std::string_view text);

}  // namespace nodepool::telemetry
