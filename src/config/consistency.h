#pragma once

#include <vector>

#include "config/check.h"
#include "config/section.h"

namespace nodepool::config {

// Checks beyond single keys that load() and validate() share. `root` is the top level of a file.

// The providers that are mappings, with the schema of the common keys. Their path has the name:
// "providers[0] (rack)".
std::vector<Section> provider_sections(const Section& root);

// The names that other parts of the file may refer to.
DefinedNames defined_names(const Section& root);

// Labels, disk images, providers and tenants that are defined more than once.
std::vector<Problem> duplicates(const Section& root);

// Pools of one provider with the same name. The Python Nodepool accepts these.
std::vector<Problem> duplicate_pools(const Section& root);

// An error for a provider whose driver is not in `drivers`.
ConfigError unknown_driver(const Section& provider, std::string_view driver,
                           const DriverSchemas& drivers);

}  // namespace nodepool::config
