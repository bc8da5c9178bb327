#pragma once

#include <string_view>

namespace nodepool::drivers::openstack {

// Whether a cloud's words speak of a quota that is used up.
bool speaks_of_quota(std::string_view message);

}  // namespace nodepool::drivers::openstack
