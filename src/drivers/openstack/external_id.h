#pragma once

#include <string>

#include "model/record.h"

namespace nodepool::drivers::openstack {

// A node's external id is the server's id, as text.
model::Json to_external_id(const std::string& server_id);

// The server's id in an external id. Throws CloudError(permanent) if it is no text.
std::string server_id_of(const model::Json& external_id);

}  // namespace nodepool::drivers::openstack
