#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace nodepool::config {

// Environment variables as name and value, in order.
using Environment = std::vector<std::pair<std::string, std::string>>;

// The prefix of the variables that a file can refer to.
inline constexpr std::string_view kVariablePrefix = "NODEPOOL_";

// The variables of this process.
Environment process_environment();

// The value of a variable; empty if it is not set.
std::string variable(const Environment& environment, std::string_view name);

// Replaces `~`, alone or before a `/`, at the beginning of a path by HOME. Without HOME, and for
// `~USER`, the path stays as it is.
std::string expand_home(const std::string& path, const Environment& environment);

// Replaces `%(NAME)` by the value of NAME, for variables whose name begins with `NODEPOOL_`. This
// is text replacement before the YAML is parsed, so the YAML around a token decides its type. One
// pass per variable, in order: a value may contain the token of a later variable. Tokens of other
// or unset variables stay as they are.
// `file` is for messages. Throws ConfigError if the text becomes larger than kMaxFileSize.
std::string substitute(std::string text, const Environment& environment, std::string_view file);

}  // namespace nodepool::config
