#pragma once

#include <string>
#include <vector>

#include "config/value.h"
#include "telemetry/log_target.h"

namespace nodepool::program {

struct LogHandler {
  enum class Kind {
    null,         // messages go nowhere: a NullHandler
    target,       // they go to `target`
    unsupported,  // they go elsewhere: an unknown class without a file or a stream
  };
  Kind kind = Kind::target;
  telemetry::LogTargetOptions target = {};
};

// A handler in a logging configuration. Its target is a file (FileHandler, WatchedFileHandler,
// RotatingFileHandler, TimedRotatingFileHandler) or a standard stream (StreamHandler), with its
// level and its formatter. Throws std::runtime_error if the configuration has no such handler or
// formatter, or a value is invalid.
LogHandler read_log_handler(const config::Value& config, const std::string& name,
                            std::vector<std::string>& warnings);

}  // namespace nodepool::program
