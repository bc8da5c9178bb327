#pragma once

#include <functional>

#include "drivers/aws/external_id.h"
#include "drivers/aws/instance_launch.h"

namespace nodepool::drivers::aws {

// Terminates an instance and releases its dedicated host; returns when they are gone. Succeeds if
// they do not exist. EC2 deletes the volume. `accepted`, if set, is called when EC2 has accepted
// the termination. Throws CloudError.
async::Task<> remove_machine(MachineContext context, ExternalId id, std::function<void()> accepted);

}  // namespace nodepool::drivers::aws
