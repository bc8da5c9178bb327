#pragma once

#include <optional>
#include <string>
#include <vector>

#include "config/value.h"
#include "telemetry/log_target.h"

namespace nodepool::program {

// The target of a handler in a logging configuration: a file (FileHandler, WatchedFileHandler,
// RotatingFileHandler, TimedRotatingFileHandler) or a standard stream (StreamHandler, and unknown
// classes without a file), with its level and its formatter. Nothing for a NullHandler. Throws
// std::runtime_error if the configuration has no such handler or formatter, or a value is invalid.
std::optional<telemetry::LogTargetOptions> read_log_handler(const config::Value& config,
                                                            const std::string& name,
                                                            std::vector<std::string>& warnings);

}  // namespace nodepool::program
