#pragma once

#include <optional>
#include <string>

#include "model/node.h"
#include "model/node_request.h"

// How records relate a node to its backing node (metastatic driver).
namespace nodepool::driver {

// The id of the node's backing node. Returns nothing if it has none, or none yet.
std::optional<std::string> backing_node_of(const model::Node& node);

// What a request for a backing node says about its tenants, in its `requestor_data`.
struct BackingPurpose {
  std::string provider;  // of the tenants
  std::string label;     // of the tenants
  std::string node;      // id of the first tenant

  friend bool operator==(const BackingPurpose&, const BackingPurpose&) = default;
};

// Reads it from a request. Returns nothing if the request is not for a backing node.
std::optional<BackingPurpose> backing_purpose_of(const model::NodeRequest& request);

// The `requestor_data` of a request for a backing node.
model::Json backing_purpose_data(const BackingPurpose& purpose);

}  // namespace nodepool::driver
