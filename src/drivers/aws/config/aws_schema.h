#pragma once

#include "config/schema.h"

namespace nodepool::drivers::aws {

// The schema of the provider section, without the keys that every provider has.
const config::Schema& aws_schema();

}  // namespace nodepool::drivers::aws
