#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace nodepool::config {

// The words of a command, as a POSIX shell finds them: between spaces, with '…', "…" and \. Nothing
// is expanded. Throws std::runtime_error if a quotation does not end, or there is no word.
std::vector<std::string> split_command(std::string_view text);

}  // namespace nodepool::config
