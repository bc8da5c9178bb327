#pragma once

#include <optional>

#include "async/runtime.h"
#include "driver/ownership.h"
#include "driver/statemachine/adapter.h"
#include "model/node.h"

namespace nodepool::driver {

// Deletes all that was made for a node. `ownership` outlives it. `uncertain_since`: when something
// was begun of which nobody knows whether it was made, seconds since the epoch. It is waited for
// until it would show, and then whatever carries the node's metadata goes. Returns when all is
// gone, also if it was not there. Throws CloudError.
Task<> remove_all_of(async::Runtime runtime, Adapter& adapter, model::Node node,
                     const Ownership& ownership, std::optional<double> uncertain_since);

}  // namespace nodepool::driver
