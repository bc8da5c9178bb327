#pragma once

#include <string>

#include "driver/images.h"

// The owner tags of resources, in names: resources in IBM Cloud get tags only after they have been
// made. As for the Python Nodepool, the resource group `np_PROVIDER_POOL` names provider and pool,
// and the name `npID` of an instance or a floating IP the node. The attachment of an instance's
// boot volume is named after the rest: `np-TIME-INSTALLATION`.
namespace nodepool::drivers::ibmvpc {

// The name of the resource group of a pool.
std::string group_name(const std::string& provider, const std::string& pool);

// The name of the boot volume's attachment for an instance with these owner tags. Empty if they
// contain neither an installation nor a creation time.
std::string boot_disk_name(const driver::Metadata& metadata);

// The owner tags of an instance or a floating IP; `boot_disk_name` is empty for the latter. Empty
// if the resource group is not a pool's.
driver::Metadata owner_tags(const std::string& name, const std::string& group,
                            const std::string& boot_disk_name);

}  // namespace nodepool::drivers::ibmvpc
