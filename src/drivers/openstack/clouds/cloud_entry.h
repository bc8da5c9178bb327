#pragma once

#include <nlohmann/json.hpp>

#include "drivers/openstack/clouds/cloud.h"

namespace nodepool::drivers::openstack {

// Reads an entry of clouds.yaml that has been merged with whatever goes under it. Throws
// CloudsError.
Cloud read_cloud(const std::string& name, const std::string& file, const nlohmann::json& entry);

// What Python's str() and truth value make of a scalar of the file; empty and false for others.
std::string text_of(const nlohmann::json& value);
bool truth_of(const nlohmann::json& value);

}  // namespace nodepool::drivers::openstack
