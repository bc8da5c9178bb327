#pragma once

#include <memory>
#include <string>

#include "drivers/libvirt/api/host.h"

namespace nodepool::drivers::libvirt {

// A host and its storage pool, by libvirt's client library. It connects with the first call, and
// again after a connection was lost. Each call returns within a minute, see GuardedThread.
// Throws LibraryMissing.
std::shared_ptr<Host> connect_host(const std::string& uri, const std::string& storage_pool);

}  // namespace nodepool::drivers::libvirt
