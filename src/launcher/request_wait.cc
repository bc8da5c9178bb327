#include "launcher/request_wait.h"

#include <algorithm>

#include "planning/decision.h"

namespace nodepool::launcher {

std::optional<double> wait_of(const model::NodeRequest& request, double now) {
  if (request.requestor == planning::kMinReadyRequestor) return std::nullopt;
  return std::max(now - request.stat.created(), 0.0);
}

}  // namespace nodepool::launcher
