#include "drivers/openstack/api/catalog.h"

#include <algorithm>
#include <cctype>

namespace nodepool::drivers::openstack {

namespace {

struct KnownService {
  std::string_view name;
  std::vector<std::string_view> types;  // in order of preference
  std::string_view version;             // of the API, for an endpoint without one
};

const KnownService& service(ServiceKind kind) {
  static const KnownService kCompute{"compute", {"compute"}, "v2.1"};
  static const KnownService kNetwork{"network", {"network"}, "v2.0"};
  static const KnownService kImage{"image", {"image"}, "v2"};
  static const KnownService kVolume{
      "volume", {"block-storage", "volumev3", "volume", "volumev2"}, "v3"};
  switch (kind) {
    case ServiceKind::compute:
      return kCompute;
    case ServiceKind::network:
      return kNetwork;
    case ServiceKind::image:
      return kImage;
    case ServiceKind::volume:
      break;
  }
  return kVolume;
}

// Whether a part of the path is a version, as in "/v2.1" or "/v3/PROJECT".
bool has_version(const std::string& url) {
  std::size_t at = url.find("://");
  at = url.find('/', at == std::string::npos ? 0 : at + 3);
  while (at != std::string::npos) {
    if (at + 2 < url.size() && url[at + 1] == 'v' &&
        std::isdigit(static_cast<unsigned char>(url[at + 2])) != 0) {
      return true;
    }
    at = url.find('/', at + 1);
  }
  return false;
}

std::string normalised(std::string url, const KnownService& service) {
  while (url.ends_with('/')) url.pop_back();
  if (!has_version(url)) url += "/" + std::string(service.version);
  return url;
}

// "publicURL" is an old spelling of "public".
std::string plain_interface(std::string interface) {
  if (interface.ends_with("URL")) interface.resize(interface.size() - 3);
  return interface;
}

}  // namespace

std::string_view to_string(ServiceKind kind) {
  return service(kind).name;
}

std::optional<std::string> endpoint_of(const std::vector<ServiceEndpoint>& catalog,
                                       ServiceKind kind, const Cloud& cloud) {
  const KnownService& wanted = service(kind);
  if (kind == ServiceKind::network && !cloud.has_network) return std::nullopt;
  if (const auto given = cloud.endpoints.find(wanted.name); given != cloud.endpoints.end()) {
    return normalised(given->second, wanted);
  }
  const auto own = cloud.interfaces.find(wanted.name);
  const std::string interface =
      plain_interface(own == cloud.interfaces.end() ? cloud.interface : own->second);
  for (const std::string_view type : wanted.types) {
    const auto found = std::ranges::find_if(catalog, [&](const ServiceEndpoint& endpoint) {
      return endpoint.type == type && plain_interface(endpoint.interface) == interface &&
             (cloud.region.empty() || endpoint.region == cloud.region);
    });
    if (found != catalog.end()) return normalised(found->url, wanted);
  }
  return std::nullopt;
}

}  // namespace nodepool::drivers::openstack
