#pragma once

#include <chrono>
#include <optional>
#include <string>

#include "cli/context.h"
#include "config/config.h"

namespace nodepool::cli {

// How long a lease is to last: as wanted, else kUsualLease or what the site allows. Throws
// std::runtime_error with the site's figure for what is longer than `max-lease`.
std::chrono::seconds lease_length(const config::Config& config,
                                  std::optional<std::chrono::seconds> wanted);

// How long a lease may last on this site, renewals included; nothing: as long as is asked for.
std::optional<std::chrono::seconds> longest_lease(const config::Config& config);

// Whose the leases are that this program makes: "nodepool:ada@build1".
std::string holder_of(const Context& context);

}  // namespace nodepool::cli
