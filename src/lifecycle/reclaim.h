#pragma once

#include <optional>

#include "driver/driver.h"
#include "lifecycle/node_writer.h"

namespace nodepool::lifecycle {

// Reclaims a node whose lock is held: writes it as `deleting`, deletes or resets its machine, and
// then removes the record with its lock. At every moment, either the record or its replacement
// exists. Every write proves that the lock is still held. `released`: when the node was released,
// in seconds since the epoch.
//
// Returns the record that replaces the node's, with its id, if the provider has reset the machine.
// Throws StoreError, and what the provider throws; the record then remains, for another attempt.
Task<std::optional<model::Node>> reclaim(NodeWriter writer, driver::Provider& provider,
                                         model::Node node, coordination::Lock& lock,
                                         std::optional<double> released = {});

}  // namespace nodepool::lifecycle
