#pragma once

#include "config/schema.h"

namespace nodepool::drivers::azure {

// The keys of a provider with `driver: azure`.
const config::Schema& azure_schema();

// The keys of `network`, if it is a mapping.
const config::Schema& network_schema();

}  // namespace nodepool::drivers::azure
