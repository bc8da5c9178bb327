#include "drivers/openstack/flavors.h"

#include <fmt/format.h>

#include <algorithm>

namespace nodepool::drivers::openstack {

const Flavor* choose_flavor(const std::vector<Flavor>& flavors, const OpenStackLabel& label) {
  const std::string name = label.flavor_name.value_or("");
  const auto found = std::ranges::find_if(flavors, [&](const Flavor& flavor) {
    if (label.min_ram == 0) return !name.empty() && (flavor.name == name || flavor.id == name);
    return flavor.ram >= static_cast<double>(label.min_ram) &&
           flavor.name.find(name) != std::string::npos;
  });
  return found == flavors.end() ? nullptr : &*found;
}

std::string describe_flavor(const OpenStackLabel& label) {
  const std::string name = label.flavor_name.value_or("");
  if (label.min_ram == 0) return fmt::format("with the name or id `{}`", name);
  if (name.empty()) return fmt::format("with at least {} MiB", label.min_ram);
  return fmt::format("with at least {} MiB and `{}` in its name", label.min_ram, name);
}

driver::Resources instance_resources(const Flavor& flavor) {
  return driver::Resources({{"instances", 1}, {"cores", flavor.vcpus}, {"ram", flavor.ram}});
}

driver::Resources instance_resources(const Server& server, const cloud::ById<Flavor>& flavors,
                                     const cloud::ById<Volume>& volumes) {
  const Flavor* flavor = flavors.find(server.flavor_id);
  driver::Resources resources =
      flavor == nullptr ? driver::Resources({{"instances", 1}}) : instance_resources(*flavor);
  for (const std::string& id : server.volumes) {
    const Volume* volume = volumes.find(id);
    resources +=
        driver::Resources({{"volumes", 1}, {"volume-gb", volume == nullptr ? 0 : volume->size}});
  }
  return resources;
}

}  // namespace nodepool::drivers::openstack
