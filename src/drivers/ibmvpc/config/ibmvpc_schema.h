#pragma once

#include "config/schema.h"

namespace nodepool::drivers::ibmvpc {

// The keys of a provider with `driver: ibmvpc`.
const config::Schema& ibmvpc_schema();

}  // namespace nodepool::drivers::ibmvpc
