#pragma once

#include <string_view>

namespace nodepool::drivers::openstack {

// The text of a clouds-public.yaml with profiles of public clouds. Source: the vendor profiles of
// openstacksdk, without those of closed clouds and those that need other APIs than the driver uses.
std::string_view public_clouds();

}  // namespace nodepool::drivers::openstack
