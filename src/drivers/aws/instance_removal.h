#pragma once

#include <functional>

#include "drivers/aws/external_id.h"
#include "drivers/aws/instance_launch.h"

namespace nodepool::drivers::aws {

// Deletes a machine: returns when it is gone, also if it was not there. Its disk goes by itself.
// `accepted`, if there is one, is called when EC2 has taken the order. Throws CloudError.
async::Task<> remove_machine(MachineContext context, ExternalId id, std::function<void()> accepted);

}  // namespace nodepool::drivers::aws
