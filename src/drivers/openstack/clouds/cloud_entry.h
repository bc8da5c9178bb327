#pragma once

#include <nlohmann/json.hpp>

#include "config/environment.h"
#include "drivers/openstack/clouds/cloud.h"

namespace nodepool::drivers::openstack {

// Reads an entry of clouds.yaml that has been merged with its defaults. `environment`: for paths
// that begin with `~`. Throws CloudsError.
Cloud read_cloud(const std::string& name, const std::string& file, const nlohmann::json& entry,
                 const config::Environment& environment);

// A scalar of the file as Python's str() and openstacksdk's boolean conversion read it; empty and
// false for other values.
std::string text_of(const nlohmann::json& value);
bool truth_of(const nlohmann::json& value);

}  // namespace nodepool::drivers::openstack
