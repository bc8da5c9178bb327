#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "driver/images.h"

namespace nodepool::drivers::kubernetes {

// Converts `text` to a name for a pod and its container: replaces invalid characters by "-".
std::string object_name(std::string_view text);

// The names for an object: `prefix`-`node id`, and an alternative in case that exists already, such
// as in a cluster that two installations share. `metadata` are the node's owner tags.
// Deterministic.
std::vector<std::string> names_for(std::string_view prefix, std::string_view node_id,
                                   const driver::Metadata& metadata);

// Whether the text is a valid value of a label; or a valid key of a label or annotation.
bool is_label_value(std::string_view text);
bool is_label_key(std::string_view text);

}  // namespace nodepool::drivers::kubernetes
