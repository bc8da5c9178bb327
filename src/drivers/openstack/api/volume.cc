#include "drivers/openstack/api/volume.h"

#include "drivers/openstack/api/limits.h"
#include "drivers/openstack/api/service.h"

namespace nodepool::drivers::openstack {

async::Task<std::vector<Volume>> VolumeApi::volumes() {
  return service_.list("list volumes", "/volumes/detail", "volumes", [](const Element& element) {
    return Volume{.id = element.text("id"), .size = element.number("size")};
  });
}

async::Task<driver::Limits> VolumeApi::limits() {
  ServiceCall call{.name = "get limits", .path = "/limits"};
  const Element answer = co_await service_.ask(std::move(call));
  const Element absolute = answer.object("limits").object("absolute");
  co_return read_limits(absolute,
                        {{"maxTotalVolumes", "volumes"}, {"maxTotalVolumeGigabytes", "volume-gb"}});
}

}  // namespace nodepool::drivers::openstack
