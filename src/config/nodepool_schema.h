#pragma once

#include <string>
#include <string_view>

#include "config/schema.h"
#include "config/value.h"

namespace nodepool::config {

// The driver of a provider without `driver`.
inline constexpr std::string_view kDefaultDriver = "openstack";

// The top level of nodepool.yaml. Its `providers` are mappings with any keys: these depend on the
// driver, see provider_schema().
const Schema& nodepool_schema();

// The secure file (option `-s`).
const Schema& secure_schema();

// The keys of every provider: name, driver, max-concurrency, priority.
const Fields& common_provider_fields();

// The keys of every pool: name, max-servers, priority, node-attributes. A driver adds its own:
// `.fields = joined(common_pool_fields(), {...})`.
const Fields& common_pool_fields();

// A driver's schema with the common provider keys, for the check of a provider section. The
// driver's field replaces a common one of the same key, so it can be stricter.
Schema provider_schema(const Schema& driver_schema);

// The driver of a provider section: its `driver`, or kDefaultDriver. A provider whose name starts
// with "fake" always has the driver `fake`, if `drivers` contains it.
std::string driver_of(const Value& provider, const DriverSchemas& drivers);

}  // namespace nodepool::config
