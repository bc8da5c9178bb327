#pragma once

#include "config/schema.h"

namespace nodepool::drivers::gce {

// The keys of a provider with `driver: gce`.
const config::Schema& gce_schema();

}  // namespace nodepool::drivers::gce
