#pragma once

#include <functional>
#include <string>

#include "drivers/azure/vm_launch.h"

namespace nodepool::drivers::azure {

// Deletes a machine, and returns when it is gone. Azure then deletes its interface, addresses and
// disk. Deletes nothing if the machine belongs to another provider or installation. `accepted`, if
// set, is called when the deletion has been accepted. Throws CloudError, `not_found` if Azure does
// not find the machine: it may have been made a moment ago.
async::Task<> remove_vm(VmContext context, std::string name, std::function<void()> accepted);

}  // namespace nodepool::drivers::azure
