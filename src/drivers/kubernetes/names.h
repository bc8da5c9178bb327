#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "driver/images.h"

namespace nodepool::drivers::kubernetes {

// `text` as the name of a pod and its container: what may not be in one becomes "-".
std::string object_name(std::string_view text);

// The names that something may get whose name is `prefix`-`node id`: the first one, and another one
// for when that is somebody else's, as where two installations share a cluster. `metadata` is the
// node's. They are the same each time.
std::vector<std::string> names_for(std::string_view prefix, std::string_view node_id,
                                   const driver::Metadata& metadata);

// Whether a label in Kubernetes may have this value; or a label or annotation this key.
bool is_label_value(std::string_view text);
bool is_label_key(std::string_view text);

}  // namespace nodepool::drivers::kubernetes
