#pragma once

#include <optional>

#include "model/node_request.h"

namespace nodepool::launcher {

// The time in seconds since the record of a request was created; `now` is in seconds since the
// epoch. Returns nothing for the launcher's own requests for `min-ready`.
std::optional<double> wait_of(const model::NodeRequest& request, double now);

}  // namespace nodepool::launcher
