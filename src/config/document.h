#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "config/environment.h"
#include "config/problem.h"
#include "config/value.h"

// YAML files in which `%(NAME)` refers to an environment variable.
namespace nodepool::config {

// Substitutes environment variables and parses the text. `file` is for messages. Throws
// ConfigError, with a hint if an unset variable on the same line may be the reason. See
// parse_yaml() for `repeated_keys`.
Value parse_document(std::string text, const Environment& environment, std::string_view file,
                     std::vector<Problem>* repeated_keys = nullptr);

// The references that are not substituted: variables that are not set, and names that do not begin
// with `NODEPOOL_`. Ignores comments.
std::vector<Problem> unset_variables(const std::string& text, const Environment& environment,
                                     std::string_view file);

}  // namespace nodepool::config
