#include "drivers/aws/account/account.h"

#include <fmt/format.h>

#include <algorithm>

namespace nodepool::drivers::aws {

namespace {

// The domains of the hosts in a group of regions. Source: the partitions of AWS's SDKs.
struct Partition {
  std::string_view regions;  // prefix of their names
  std::string_view domain;
  std::string_view dual_stack_domain;  // except S3's
};

constexpr Partition kPartitions[] = {
    {"cn-", "amazonaws.com.cn", "api.amazonwebservices.com.cn"},
    {"us-iso-", "c2s.ic.gov", "api.aws.ic.gov"},
    {"us-isob-", "sc2s.sgov.gov", "api.aws.scloud"},
    {"us-isof-", "csp.hci.ic.gov", "api.aws.hci.ic.gov"},
    {"eu-isoe-", "cloud.adc-e.uk", "api.cloud-aws.adc-e.uk"},
    {"eusc-", "amazonaws.eu", "api.amazonwebservices.eu"},
    {"", "amazonaws.com", "api.aws"},
};

const Partition& partition_of(std::string_view region) {
  return *std::ranges::find_if(kPartitions, [region](const Partition& partition) {
    return region.starts_with(partition.regions);
  });
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

// Source: the endpoint rules of AWS's SDKs.
std::string Account::endpoint(ServiceKind service) const {
  const auto configured = endpoints.find(service);
  if (configured != endpoints.end()) {
    const std::string& url = configured->second;
    return url.ends_with('/') ? url.substr(0, url.size() - 1) : url;
  }
  const Partition& partition = partition_of(region);
  const bool is_s3 = service == ServiceKind::s3;
  const bool is_dual_stack = dual_stack.contains(service);
  // In GovCloud, the usual hosts of all services but S3 are FIPS hosts.
  const bool is_usual_host = region.starts_with("us-gov-") && !is_s3 && !is_dual_stack;
  std::string host(host_name(service));
  if (is_fips && !is_usual_host) host += "-fips";
  if (is_dual_stack && is_s3) host += ".dualstack";
  return fmt::format("https://{}.{}.{}", host, region,
                     is_dual_stack && !is_s3 ? partition.dual_stack_domain : partition.domain);
}

}  // namespace nodepool::drivers::aws
