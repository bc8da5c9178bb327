#pragma once

#include <exception>
#include <string_view>

#include "telemetry/log.h"

namespace nodepool::launcher {

// Logs a failure that is retried: as an error, or as debug during an outage of the store, which is
// logged elsewhere.
void log_failure(const telemetry::Logger& log, std::string_view what, const std::exception& error);

}  // namespace nodepool::launcher
