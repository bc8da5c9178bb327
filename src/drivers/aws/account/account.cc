#include "drivers/aws/account/account.h"

#include <fmt/format.h>

namespace nodepool::drivers::aws {

namespace {

// The domain of a region's hosts. Source: the partitions of AWS's SDKs.
std::string_view domain_of(std::string_view region) {
  if (region.starts_with("cn-")) return "amazonaws.com.cn";
  if (region.starts_with("us-isob-")) return "sc2s.sgov.gov";
  if (region.starts_with("us-iso-")) return "c2s.ic.gov";
  if (region.starts_with("eusc-")) return "amazonaws.eu";
  return "amazonaws.com";
}

}  // namespace

std::string_view host_name(ServiceKind service) {
  switch (service) {
    case ServiceKind::ec2:
      return "ec2";
    case ServiceKind::service_quotas:
      return "servicequotas";
    case ServiceKind::sts:
      return "sts";
    case ServiceKind::s3:
      return "s3";
    case ServiceKind::ebs:
      return "ebs";
  }
  return {};
}

std::string Account::endpoint(ServiceKind service) const {
  const auto configured = endpoints.find(service);
  if (configured != endpoints.end()) {
    const std::string& url = configured->second;
    return url.ends_with('/') ? url.substr(0, url.size() - 1) : url;
  }
  return fmt::format("https://{}.{}.{}", host_name(service), region, domain_of(region));
}

}  // namespace nodepool::drivers::aws
