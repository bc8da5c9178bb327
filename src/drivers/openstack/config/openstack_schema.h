#pragma once

#include "config/schema.h"

namespace nodepool::drivers::openstack {

// The schema of the provider section, without the keys that every provider has.
const config::Schema& openstack_schema();

}  // namespace nodepool::drivers::openstack
