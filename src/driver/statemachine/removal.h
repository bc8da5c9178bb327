#pragma once

#include <functional>

#include "async/runtime.h"
#include "driver/launch.h"
#include "driver/ownership.h"
#include "driver/statemachine/adapter.h"
#include "driver/statemachine/launch_journal.h"
#include "telemetry/log.h"

namespace nodepool::driver {

// The dependencies of a deletion. All of them outlive it.
struct RemovalContext {
  async::Runtime runtime;
  Adapter& adapter;
  const Ownership& ownership;
  telemetry::Logger log;
  std::function<void()> accepted = {};  // called once, when the cloud has accepted the deletion
};

// Deletes all resources of a node, and returns when they are gone. Succeeds if there are none. A
// machine that the cloud does not find is gone if it does not find it after the consistency delay
// either. The steps are written to the node's record, whose journal is `journal`.
//
// `is_uncertain`: there may be resources that the record does not name. Then waits for the
// consistency delay, and deletes everything with the node's owner tags first: the machine that the
// record names may have to be empty. Throws CloudError, StoreError.
Task<> remove_all_of(RemovalContext context, NodeRecord& record, LaunchJournal& journal,
                     bool is_uncertain);

}  // namespace nodepool::driver
