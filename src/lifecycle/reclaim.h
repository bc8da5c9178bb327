#pragma once

#include <optional>

#include "async/clock.h"
#include "async/task.h"
#include "coordination/lock.h"
#include "coordination/store.h"
#include "driver/driver.h"
#include "model/node.h"
#include "model/node_table.h"

namespace nodepool::lifecycle {

// The process that reclaims a node. The references outlive the call.
struct Reclaimer {
  async::Clock& clock;
  coordination::Store& store;
  model::NodeTable* nodes = nullptr;  // updated with what is written; nullptr: there is none
};

// Reclaims a node whose lock is held: writes it as `deleting`, deletes or resets its machine, and
// then removes the record with its lock. At every moment, either the record or its replacement
// exists. Every write proves that the lock is still held. `released`: when the node was released,
// in seconds since the epoch.
//
// Returns the record that replaces the node's, with its id, if the provider has reset the machine.
// Throws StoreError, and what the provider throws; the record then remains, for another attempt.
async::Task<std::optional<model::Node>> reclaim(Reclaimer reclaimer, driver::Provider& provider,
                                                model::Node node, coordination::Lock& lock,
                                                std::optional<double> released = {});

}  // namespace nodepool::lifecycle
