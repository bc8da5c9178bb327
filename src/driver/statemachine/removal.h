#pragma once

#include <functional>

#include "async/runtime.h"
#include "driver/launch.h"
#include "driver/ownership.h"
#include "driver/statemachine/adapter.h"
#include "driver/statemachine/launch_journal.h"
#include "telemetry/log.h"

namespace nodepool::driver {

// What a deletion works with. Everything outlives it.
struct RemovalContext {
  async::Runtime runtime;
  Adapter& adapter;
  const Ownership& ownership;
  telemetry::Logger log;
  std::function<void()> accepted = {};  // called once, when the cloud has taken the order
};

// Deletes all that was made for a node, in steps that are written to its record; `journal` is what
// that says. `is_uncertain`: there may be more than the record names. Then, once that would show,
// whatever carries the node's metadata goes, before what the record names, which may have to be
// empty to go. Returns when all is gone, also if it was not there. Throws CloudError, StoreError.
Task<> remove_all_of(RemovalContext context, NodeRecord& record, LaunchJournal& journal,
                     bool is_uncertain);

}  // namespace nodepool::driver
