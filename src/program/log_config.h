#pragma once

#include <string>
#include <vector>

#include "telemetry/log.h"

namespace nodepool::program {

// The supported part of a logging configuration.
struct LogConfig {
  telemetry::LogOptions options;
  std::vector<std::string> warnings;  // about unsupported parts, for the log
};

// Reads a logging configuration (option -l): for Python's dictConfig() in YAML or JSON
// (.yaml, .yml, .json), otherwise for its fileConfig(), an INI file. Like in Python, a logger
// without a level has its parent's, and its messages also go to its parent's handlers. Unlike in
// Python, a message goes once to each handler. Throws std::runtime_error if the file cannot be read
// or is invalid.
LogConfig load_log_config(const std::string& path);

}  // namespace nodepool::program
