#pragma once

#include <string_view>
#include <utility>
#include <vector>

#include "cloud/element.h"
#include "driver/resources.h"

namespace nodepool::drivers::openstack {

// Reads the limits in a response. `names` are pairs of the cloud's name and ours. Missing values
// and -1 mean unlimited.
driver::Limits read_limits(const cloud::Element& absolute,
                           const std::vector<std::pair<std::string_view, std::string_view>>& names);

}  // namespace nodepool::drivers::openstack
