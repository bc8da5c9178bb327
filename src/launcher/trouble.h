#pragma once

#include <exception>
#include <string_view>

#include "telemetry/log.h"

namespace nodepool::launcher {

// Logs what has gone wrong and is tried again: an error, unless it is the store's outage. That is
// in the log already, and heals itself.
void log_trouble(const telemetry::Logger& log, std::string_view what, const std::exception& error);

}  // namespace nodepool::launcher
