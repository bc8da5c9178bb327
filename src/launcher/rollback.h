#pragma once

#include "launcher/locked_request.h"

namespace nodepool::launcher {

// Ends the handling of a `pending` request that cannot be fulfilled now: makes it `requested` again
// or, with a reason, declines it, frees its ready nodes and releases all locks. In one transaction
// if possible; if a record has changed (a withdrawn request, a deleted node), in one for each
// record. Each proves that the lock is still held: after its loss, the records are left to the new
// holder. `request` outlives the task.
async::Task<> roll_back(LockedRequest& request, planning::Reason reason);

}  // namespace nodepool::launcher
