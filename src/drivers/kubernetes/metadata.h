#pragma once

#include <string>
#include <string_view>

#include "driver/images.h"
#include "drivers/kubernetes/api/kube_api.h"

namespace nodepool::drivers::kubernetes {

// The tag with the label of a node.
inline constexpr std::string_view kNodeLabelKey = "nodepool_node_label";

// Selects the objects of nodes, which all have this label.
inline constexpr std::string_view kOfNodes = "labelSelector=nodepool_node_id";

// The `metadata` of a new object: its name, and its tags as labels. Owner tags with values that are
// invalid for labels become annotations.
Json object_metadata(const std::string& name, const driver::Metadata& attached);

// The tags of an object.
driver::Metadata attached_to(const Element& object);

// The entries of `wanted` that are invalid labels, as "KEY: VALUE".
std::vector<std::string> no_labels(const driver::Metadata& wanted);

}  // namespace nodepool::drivers::kubernetes
