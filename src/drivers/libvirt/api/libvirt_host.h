#pragma once

#include <string>

#include "drivers/libvirt/api/host.h"

namespace nodepool::drivers::libvirt {

// Hosts by libvirt's client library. They connect with their first call, and again after the
// connection was lost. Throws LibraryMissing.
HostMaker libvirt_host(const std::string& uri, const std::string& storage_pool);

}  // namespace nodepool::drivers::libvirt
