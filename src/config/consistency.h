#pragma once

#include <vector>

#include "config/check.h"
#include "config/section.h"

namespace nodepool::config {

// What load() and validate() both look at beyond single keys. `root` is the top level of a file.

// The providers that are mappings, read by the common keys. Their path names them:
// "providers[0] (rack)".
std::vector<Section> provider_sections(const Section& root);

// The names that other parts of the file may refer to.
DefinedNames defined_names(const Section& root);

// Labels, disk images, providers and tenants that are defined more than once.
std::vector<Problem> duplicates(const Section& root);

// Pools of one provider with one name, which the Python Nodepool accepts.
std::vector<Problem> duplicate_pools(const Section& root);

// An error for a provider that does not say its driver and is none of the default one's.
ConfigError default_driver(const Section& provider);

// An error for a provider whose driver is not in `drivers`.
ConfigError unknown_driver(const Section& provider, std::string_view driver,
                           const DriverSchemas& drivers);

}  // namespace nodepool::config
