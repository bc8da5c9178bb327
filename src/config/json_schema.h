#pragma once

#include <nlohmann/json_fwd.hpp>

#include "config/schema.h"

namespace nodepool::config {

// The JSON Schema (draft 2020-12) of nodepool.yaml with all drivers, for editors: they complete
// keys, show descriptions and defaults, and mark mistakes while one types.
nlohmann::ordered_json json_schema(const DriverSchemas& drivers);

}  // namespace nodepool::config
