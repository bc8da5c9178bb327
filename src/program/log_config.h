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

// Reads a logging configuration (option -l): a Python dictConfig structure in YAML or JSON. It uses
// the level of each logger, or else its parent's, and the first handler of the logger `nodepool` or
// else of the root logger: a file (FileHandler, WatchedFileHandler, RotatingFileHandler,
// TimedRotatingFileHandler) or a standard stream (StreamHandler), and its level. Throws
// std::runtime_error if the file cannot be read or is invalid.
LogConfig load_log_config(const std::string& path);

}  // namespace nodepool::program
