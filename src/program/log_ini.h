#pragma once

#include <string_view>

#include "config/value.h"

namespace nodepool::program {

// Converts a configuration for Python's logging.config.fileConfig(), an INI file, to the structure
// of one for dictConfig(). Throws std::runtime_error if it is invalid.
config::Value parse_log_ini(std::string_view text);

}  // namespace nodepool::program
