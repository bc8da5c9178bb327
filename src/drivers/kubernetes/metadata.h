#pragma once

#include <string>
#include <string_view>

#include "driver/images.h"
#include "drivers/kubernetes/api/kube_api.h"

namespace nodepool::drivers::kubernetes {

// Picks out what has been made for nodes: all of it has this label.
inline constexpr std::string_view kOfNodes = "labelSelector=nodepool_node_id";

// The `metadata` of something that is to be made: its name, and what is attached to it, as labels;
// what says whose it is and may not be a label's value, as annotations.
Json object_metadata(const std::string& name, const driver::Metadata& attached);

// What is attached to something.
driver::Metadata attached_to(const Element& object);

// What keys and values of `wanted` can be no labels, each in words.
std::vector<std::string> no_labels(const driver::Metadata& wanted);

}  // namespace nodepool::drivers::kubernetes
