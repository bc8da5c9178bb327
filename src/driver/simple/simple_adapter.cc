#include "driver/simple/simple_adapter.h"

namespace nodepool::driver {

Limits SimpleAdapter::quota_limits() {
  return {};
}

Resources SimpleAdapter::quota_for_label(const std::string& /*pool*/,
                                         const std::string& /*label*/) {
  return Resources({{"instances", 1}});
}

std::optional<std::string> SimpleAdapter::label_problem(const std::string& /*pool*/,
                                                        const std::string& /*label*/) {
  return std::nullopt;
}

}  // namespace nodepool::driver
