#pragma once

#include <functional>
#include <optional>
#include <string>

#include "drivers/openstack/server_launch.h"
#include "model/node.h"

namespace nodepool::drivers::openstack {

// The public IPv4 address that its launch has given to the server of this node, a floating IP or
// not. Empty: none. Nothing: unknown, also without a record (nullptr).
std::optional<std::string> launched_public_ipv4(const model::Node* node);

// Deletes a server and its floating IPs, and returns when they are gone. Succeeds if they do not
// exist. The cloud deletes the server's volume. While floating IPs cannot be listed, deletes a
// server only if it certainly has none, by its list entry and `public_ipv4`, which is
// launched_public_ipv4(). `accepted`, if set, is called when the cloud has accepted the deletion.
// Throws CloudError.
async::Task<> remove_server(ServerContext context, std::string server_id,
                            std::optional<std::string> public_ipv4, std::function<void()> accepted);

}  // namespace nodepool::drivers::openstack
