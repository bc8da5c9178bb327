#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "drivers/openstack/clouds/cloud.h"

namespace nodepool::drivers::openstack {

// The APIs that are used.
enum class ServiceKind { compute, network, image, volume };

// "compute", …: as in Cloud::endpoints, in messages and as prefix of calls' names.
std::string_view to_string(ServiceKind kind);

// One address of a service, as a token's catalog has it.
struct Endpoint {
  std::string type;  // "compute", "volumev3", …
  std::string interface;
  std::string region;
  std::string url;
};

// The root of the service's API with its version ("https://…/v2.1"), by the cloud's overrides,
// interface and region. Nothing if the catalog does not have it.
std::optional<std::string> endpoint_of(const std::vector<Endpoint>& catalog, ServiceKind kind,
                                       const Cloud& cloud);

}  // namespace nodepool::drivers::openstack
