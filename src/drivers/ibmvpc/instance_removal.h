#pragma once

#include <functional>
#include <string>

#include "driver/ownership.h"
#include "drivers/ibmvpc/instance_launch.h"

namespace nodepool::drivers::ibmvpc {

// A deletion of a node's machine.
struct MachineRemoval {
  std::string name;
  bool has_no_floating_ip = false;  // false: unknown
  std::function<void()> accepted;   // called when the deletion of the instance has been accepted
};

// Deletes the floating IPs and the instance of a node, and returns when they are gone. Those of
// other providers and installations stay. Throws CloudError, `not_found` if no instance is listed:
// it may have been made a moment ago.
async::Task<> remove_machine(VpcContext context, const driver::Ownership& ownership,
                             MachineRemoval removal);

// Begins to delete an instance and its floating IPs. Throws CloudError.
async::Task<> begin_removal(VpcContext context, std::string id);

}  // namespace nodepool::drivers::ibmvpc
