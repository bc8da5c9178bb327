#pragma once

#include <functional>
#include <optional>

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
// that says. `uncertain_since`: when something was begun of which nobody knows whether it was made,
// seconds since the epoch. It is waited for until it would show, and then whatever carries the
// node's metadata goes, before what the record names, which may have to be empty to go. Returns
// when all is gone, also if it was not there. Throws CloudError, StoreError.
Task<> remove_all_of(RemovalContext context, NodeRecord& record, LaunchJournal& journal,
                     std::optional<double> uncertain_since);

}  // namespace nodepool::driver
