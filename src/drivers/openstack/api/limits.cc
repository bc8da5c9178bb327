#include "drivers/openstack/api/limits.h"

namespace nodepool::drivers::openstack {

driver::Limits read_limits(
    const cloud::Element& absolute,
    const std::vector<std::pair<std::string_view, std::string_view>>& names) {
  driver::Limits limits;
  for (const auto& [theirs, ours] : names) {
    const std::optional<double> most = absolute.optional_number(theirs);
    if (most && *most >= 0) limits.emplace(ours, *most);
  }
  return limits;
}

}  // namespace nodepool::drivers::openstack
