#pragma once

#include "config/schema.h"

namespace nodepool::drivers::libvirt {

// The schema of a provider section with `driver: libvirt`.
const config::Schema& libvirt_schema();

}  // namespace nodepool::drivers::libvirt
