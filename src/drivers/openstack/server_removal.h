#pragma once

#include <functional>
#include <string>

#include "drivers/openstack/server_launch.h"

namespace nodepool::drivers::openstack {

// Deletes a server and its floating IPs, and returns when they are gone. Succeeds if they do not
// exist. The cloud deletes the server's volume. `accepted`, if set, is called when the cloud has
// accepted the deletion. Throws CloudError.
async::Task<> remove_server(ServerContext context, std::string server_id,
                            std::function<void()> accepted);

}  // namespace nodepool::drivers::openstack
