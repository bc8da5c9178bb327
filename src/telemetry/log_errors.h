#pragma once

#include <string>
#include <utility>

#include "async/task_scope.h"
#include "telemetry/log.h"

namespace nodepool::telemetry {

// A handler for TaskScope that logs the name and the error of each failed task.
inline async::TaskScope::ErrorHandler log_errors(Logger log) {
  return [log = std::move(log)](const std::string& name, const std::string& error) {
    log.error("{}: {}", name, error);
  };
}

}  // namespace nodepool::telemetry
