#pragma once

#include "config/schema.h"

namespace nodepool::drivers::aws {

// Of a pool's label, and of an image that is uploaded.
const config::Schema& label_schema();
const config::Schema& diskimage_schema();

}  // namespace nodepool::drivers::aws
