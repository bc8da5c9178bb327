#pragma once

#include <string>

#include "model/record.h"

namespace nodepool::drivers::openstack {

// A node's external id is the server's id, as text.
model::Json to_external_id(const std::string& server_id);

// Throws CloudError(permanent) if it is not one of ours.
std::string server_id_of(const model::Json& external_id);

}  // namespace nodepool::drivers::openstack
