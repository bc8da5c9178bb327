#pragma once

#include <string_view>

namespace nodepool::drivers::openstack {

// Whether a cloud's message says that a quota is exceeded.
bool speaks_of_quota(std::string_view message);

}  // namespace nodepool::drivers::openstack
