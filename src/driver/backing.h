#pragma once

#include <optional>
#include <string>

#include "model/node.h"
#include "model/node_request.h"

// Nodes on nodes: what the records say of that, for whoever tells people what belongs together.
namespace nodepool::driver {

// The id of the node that this one is on; nothing if it is a machine of its own, or has no place
// yet.
std::optional<std::string> backing_node_of(const model::Node& node);

// What a request for a node says of those that are to be on it: its `requestor_data`.
struct BackingPurpose {
  std::string provider;  // of the nodes that are to be on it
  std::string label;     // … and theirs
  std::string node;      // the first of them

  friend bool operator==(const BackingPurpose&, const BackingPurpose&) = default;
};

// Nothing if it is a request of any other kind.
std::optional<BackingPurpose> backing_purpose_of(const model::NodeRequest& request);

model::Json backing_purpose_data(const BackingPurpose& order);

}  // namespace nodepool::driver
