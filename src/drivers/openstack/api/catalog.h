#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "drivers/openstack/clouds/cloud.h"

namespace nodepool::drivers::openstack {

// The APIs that the driver uses.
enum class ServiceKind { compute, network, image, volume };

// "compute", …: as in Cloud::endpoints and messages, and the prefix of call names.
std::string_view to_string(ServiceKind kind);

// One entry of a token's catalog.
struct ServiceEndpoint {
  std::string type;  // "compute", "volumev3", …
  std::string interface;
  std::string region;
  std::string url;
};

// The base URL of the service's API with its version ("https://…/v2.1"), chosen by the cloud's
// overrides, interface and region. Returns nothing if the catalog has none, or if the cloud is
// configured to be without this service.
std::optional<std::string> endpoint_of(const std::vector<ServiceEndpoint>& catalog,
                                       ServiceKind kind, const Cloud& cloud);

}  // namespace nodepool::drivers::openstack
