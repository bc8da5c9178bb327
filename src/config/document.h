#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "config/environment.h"
#include "config/problem.h"
#include "config/value.h"

// A file of YAML in which `%(NAME)` stands for a variable of the environment.
namespace nodepool::config {

// Puts the environment in and parses the text. `file` is for messages. Throws ConfigError; where a
// variable that is not set may be the reason, it says so.
Value parse_document(std::string text, const Environment& environment, std::string_view file);

// What stands for a variable in the text and is left as it is: variables that are not set, and
// those whose name does not begin with `NODEPOOL_`. Comments do not count.
std::vector<Problem> unset_variables(const std::string& text, const Environment& environment,
                                     std::string_view file);

}  // namespace nodepool::config
