#pragma once

#include <string>
#include <string_view>

#include "config/schema.h"
#include "config/value.h"

namespace nodepool::config {

// The driver of a provider that names none.
inline constexpr std::string_view kDefaultDriver = "openstack";

// The top level of nodepool.yaml. Its `providers` are only said to be mappings: which keys they
// have depends on the driver, see provider_schema().
const Schema& nodepool_schema();

// The file with the secrets (option `-s`).
const Schema& secure_schema();

// What every provider has: name, driver, max-concurrency, priority.
const Fields& common_provider_fields();

// What every pool has: name, max-servers, priority, node-attributes. A driver puts them under its
// own: `.fields = joined(common_pool_fields(), {...})`.
const Fields& common_pool_fields();

// A driver's schema with the common provider keys, as a provider section is checked. A common key
// that the driver lists as well is as the driver says, so it can be stricter.
Schema provider_schema(const Schema& driver_schema);

// The driver of a provider section: kDefaultDriver unless it names one. A provider whose name
// starts with "fake" has the driver `fake`, whatever it says, if `drivers` has that one.
std::string driver_of(const Value& provider, const DriverSchemas& drivers);

}  // namespace nodepool::config
