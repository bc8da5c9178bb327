#pragma once

#include <string_view>
#include <utility>
#include <vector>

#include "cloud/element.h"
#include "driver/resources.h"

namespace nodepool::drivers::openstack {

// The limits of an answer by our names, `names` being pairs of theirs and ours. -1 and absence mean
// no limit.
driver::Limits read_limits(const cloud::Element& absolute,
                           const std::vector<std::pair<std::string_view, std::string_view>>& names);

}  // namespace nodepool::drivers::openstack
