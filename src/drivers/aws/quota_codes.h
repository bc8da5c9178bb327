#pragma once

#include <string>
#include <string_view>

namespace nodepool::drivers::aws {

// The codes of Service Quotas that count what machines take; empty where there is none.

// Virtual CPUs of instances of a type ("m5.large"), on demand or spot.
std::string_view instance_quota_code(std::string_view instance_type, bool is_spot);

// Dedicated hosts for a type's family.
std::string_view host_quota_code(std::string_view instance_type);

// Of a kind of EBS volumes ("gp3"): the size of all of them, and the operations in a second that
// are provisioned for them.
struct VolumeQuotaCodes {
  std::string_view storage;  // its value is in TiB
  std::string_view iops;
};
VolumeQuotaCodes volume_quota_codes(std::string_view volume_type);

}  // namespace nodepool::drivers::aws
