#pragma once

#include <string>

#include "telemetry/log.h"

namespace nodepool::program {

// Reads a logging configuration (option -l): a Python dictConfig structure in YAML or JSON. Used of
// it are the level of each logger, and the first handler of the logger `nodepool` or else of the
// root logger: whether it writes to a file (`filename`) or to a standard stream (`stream`), and its
// level. Throws std::runtime_error if the file cannot be read or is none.
telemetry::LogOptions load_log_config(const std::string& path);

}  // namespace nodepool::program
