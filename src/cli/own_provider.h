#pragma once

#include <functional>

#include "cli/session.h"
#include "config/config.h"
#include "driver/driver.h"

namespace nodepool::cli {

// Starts a provider in this process, calls `use`, and stops the provider. Throws
// config::ConfigError and what `use` and the start of the provider throw.
Task<> with_own_provider(Session& session, const config::ProviderSection& section,
                         std::function<Task<>(driver::Provider&)> use);

}  // namespace nodepool::cli
