#pragma once

#include <string>
#include <string_view>

#include "model/node_request.h"

namespace nodepool::driver {

// Substitutes the fields of a request in a text: "{request.id}" becomes the request's id. The
// syntax is as in Python's str.format(). The field `request` has the attributes id, labels,
// requestor, requestor_data, relative_priority, event_id, created_time and tenant_name; `[0]` and
// `[key]` select items of lists and objects; "{{" is a brace. A format after ':' may give fill,
// alignment and width. Throws std::invalid_argument for an unsupported field or format.
std::string fill_in(std::string_view text, const model::NodeRequest& request);

}  // namespace nodepool::driver
