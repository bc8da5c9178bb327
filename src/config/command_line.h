#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace nodepool::config {

// Splits a command into words like a POSIX shell: at blanks, with '…', "…" and \. Expands nothing.
// Throws std::runtime_error for an unterminated quote or a command without words.
std::vector<std::string> split_command(std::string_view text);

}  // namespace nodepool::config
