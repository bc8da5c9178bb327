#pragma once

#include <functional>
#include <string>

#include "drivers/azure/vm_launch.h"

namespace nodepool::drivers::azure {

// Deletes a machine, and returns when it is gone. Azure then deletes its interface, addresses and
// disk. Succeeds if there is none. Deletes nothing if the machine belongs to another provider or
// installation. `accepted`, if set, is called when the deletion has been accepted. Throws
// CloudError.
async::Task<> remove_vm(VmContext context, std::string name, std::function<void()> accepted);

}  // namespace nodepool::drivers::azure
