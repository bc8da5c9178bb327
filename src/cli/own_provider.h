#pragma once

#include <functional>

#include "cli/session.h"
#include "config/config.h"
#include "driver/driver.h"

namespace nodepool::cli {

// Lets `use` work with a provider of this process's own, started and stopped around it. Throws what
// `use` throws; config::ConfigError; what the provider's start throws.
Task<> with_own_provider(Session& session, const config::ProviderSection& section,
                         std::function<Task<>(driver::Provider&)> use);

}  // namespace nodepool::cli
