#pragma once

#include <functional>

#include "drivers/aws/external_id.h"
#include "drivers/aws/instance_launch.h"

namespace nodepool::drivers::aws {

// Terminates an instance and releases its dedicated host; returns when they are gone. Succeeds if
// they do not exist. EC2 deletes the volume. If `id` names only the host, the listed instances with
// the tags `owner` on it are terminated first. `accepted`, if set, is called when EC2 has accepted
// a termination. Throws CloudError.
async::Task<> remove_machine(MachineContext context, ExternalId id, driver::Metadata owner,
                             std::function<void()> accepted);

}  // namespace nodepool::drivers::aws
