#pragma once

#include "driver/driver.h"
#include "launcher/locked_request.h"

namespace nodepool::launcher {

// Whether the provider can hand out all existing nodes of the request, which are locked. Checks
// them concurrently, because an unreachable host takes until its timeout, and takes the unusable
// ones out of service. Throws what the provider throws, and StoreError. Both parameters outlive the
// task.
async::Task<bool> all_usable(LockedRequest& request, driver::Provider& provider);

}  // namespace nodepool::launcher
