#include "launcher/request_wait.h"

#include <algorithm>

#include "planning/decision.h"

namespace nodepool::launcher {

std::optional<double> wait_of(const model::NodeRequest& request, double now) {
  if (request.requestor == planning::kMinReadyRequestor) return std::nullopt;
  constexpr double kMilliseconds = 1000;
  const double created = static_cast<double>(request.stat.ctime) / kMilliseconds;
  return std::max(now - created, 0.0);
}

}  // namespace nodepool::launcher
