#pragma once

#include <array>

namespace nodepool::drivers::openstack {

// Arguments of openstacksdk's create_image() that the Python Nodepool takes from an image's
// metadata, for an import of the image instead of an upload. They have no effect here.
inline constexpr std::array<const char*, 9> kImportArguments = {
    "use_import",    "import_method",   "uri",
    "stores",        "all_stores",      "all_stores_must_succeed",
    "remote_region", "remote_image_id", "remote_service_interface"};

}  // namespace nodepool::drivers::openstack
