#pragma once

#include <functional>
#include <string>

#include "drivers/openstack/server_launch.h"

namespace nodepool::drivers::openstack {

// Deletes a server and its floating IPs: returns when they are gone, also if they were not there.
// Its volume goes by itself. `accepted`, if there is one, is called when the cloud has taken the
// order. Throws CloudError.
async::Task<> remove_server(ServerContext context, std::string server_id,
                            std::function<void()> accepted);

}  // namespace nodepool::drivers::openstack
