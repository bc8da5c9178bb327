#pragma once

#include <string>
#include <string_view>

namespace nodepool::drivers::aws {

// Codes of Service Quotas; empty if there is none.

// The quota for virtual CPUs of instances of a type ("m5.large"), on demand or spot.
std::string_view instance_quota_code(std::string_view instance_type, bool is_spot);

// The quota for dedicated hosts of the type's family.
std::string_view host_quota_code(std::string_view instance_type);

// The quotas for EBS volumes of a type ("gp3"): total size and total provisioned IOPS.
struct VolumeQuotaCodes {
  std::string_view storage;  // in TiB
  std::string_view iops;
};
VolumeQuotaCodes volume_quota_codes(std::string_view volume_type);

}  // namespace nodepool::drivers::aws
