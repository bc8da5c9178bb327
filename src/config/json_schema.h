#pragma once

#include <nlohmann/json_fwd.hpp>

#include "config/schema.h"

namespace nodepool::config {

// The JSON Schema (draft 2020-12) of nodepool.yaml with all drivers. Editors use it to complete
// keys, show descriptions and defaults, and mark mistakes.
nlohmann::ordered_json json_schema(const DriverSchemas& drivers);

}  // namespace nodepool::config
