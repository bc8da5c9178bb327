#pragma once

#include <string>

#include "model/record.h"

namespace nodepool::drivers::aws {

// What a node consists of in EC2.
struct ExternalId {
  std::string instance;  // empty: none yet
  std::string host;      // the dedicated host; empty: none

  friend bool operator==(const ExternalId&, const ExternalId&) = default;
};

// A node's external id, as the Python Nodepool 11 has it: {"host": "h-…", "instance": "i-…"},
// without what there is not.
model::Json to_json(const ExternalId& id);

// Reads also what older releases wrote: the instance's id, as text. Throws CloudError(not_found) if
// it is neither: then it names nothing that is in EC2.
ExternalId parse_external_id(const model::Json& json);

}  // namespace nodepool::drivers::aws
