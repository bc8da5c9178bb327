#pragma once

#include <map>
#include <string>

#include "drivers/aws/api/caller.h"

namespace nodepool::drivers::aws {

// Service Quotas in one region.
class ServiceQuotas {
 public:
  explicit ServiceQuotas(Caller& caller) : caller_(caller) {}

  // The values of all quotas of a service ("ec2", "ebs") by code. Omits invalid values (number.h).
  // Throws CloudError.
  async::Task<std::map<std::string, double>> values(std::string service);

 private:
  Caller& caller_;
};

}  // namespace nodepool::drivers::aws
