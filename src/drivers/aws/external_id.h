#pragma once

#include <string>

#include "model/record.h"

namespace nodepool::drivers::aws {

// The resources of a node in EC2.
struct ExternalId {
  std::string instance;  // empty: none yet
  std::string host;      // the dedicated host; empty: none

  friend bool operator==(const ExternalId&, const ExternalId&) = default;
};

// The node's external id, in the format of the Python Nodepool 11: {"host": "h-…", "instance":
// "i-…"}. Omits empty values.
model::Json to_json(const ExternalId& id);

// Reads an external id. Also accepts the format of older releases, the instance's id as text.
// Throws CloudError(not_found) for other values: there is no such instance.
ExternalId parse_external_id(const model::Json& json);

}  // namespace nodepool::drivers::aws
