#pragma once

#include <chrono>
#include <optional>
#include <string>

#include "cli/context.h"
#include "config/config.h"

namespace nodepool::cli {

// The length of a lease: as wanted, else kUsualLease, but at most `max-lease`. Throws
// std::runtime_error if the wanted length exceeds `max-lease`.
std::chrono::seconds lease_length(const config::Config& config,
                                  std::optional<std::chrono::seconds> wanted);

// The maximum length of a lease, renewals included; nothing: no maximum.
std::optional<std::chrono::seconds> longest_lease(const config::Config& config);

// The holder of the leases that this program makes: "nodepool:ada@build1".
std::string holder_of(const Context& context);

}  // namespace nodepool::cli
