#pragma once

#include <string>
#include <string_view>

#include "model/node_request.h"

namespace nodepool::driver {

// Text that is made of a request: "{request.id}" in it becomes the request's id. What stands in
// braces is a Python format field with the name `request` and its attributes id, labels, requestor,
// requestor_data, relative_priority, event_id, created_time and tenant_name; items of lists and
// objects are `[0]` and `[key]`; "{{" is a brace. A format (after ':') may give fill, alignment and
// width. Throws std::invalid_argument for what it cannot be made of.
std::string fill_in(std::string_view text, const model::NodeRequest& request);

}  // namespace nodepool::driver
