#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "cloud/by_id.h"
#include "driver/resources.h"
#include "drivers/aws/api/ec2.h"
#include "drivers/aws/config/aws_config.h"

namespace nodepool::drivers::aws {

// The resources of an instance of the type: instances, cores, ram, and virtual CPUs by quota code.
driver::Resources instance_resources(const InstanceType& type, bool is_spot);

// The resources of an instance on a dedicated host: an instance, and a host for its type.
driver::Resources resources_of_host(const std::string& instance_type);

// The resources of a volume: its size, and its IOPS if these have a quota.
driver::Resources resources_of_volume(const std::string& type, double size, double iops);

// The resources that an existing instance takes, with its volumes. One on a dedicated host takes
// the host. `types` by name; unknown types and volumes do not count.
driver::Resources instance_resources(const Ec2Instance& instance,
                                     const std::map<std::string, InstanceType>& types,
                                     const cloud::ById<Ec2Volume>& volumes);

// The resources of an instance with the label and of this type.
driver::Resources label_resources(const AwsLabel& label, const InstanceType& type);

// The minimum of each resource over these types, of which there is at least one. Omits resources
// that one of them does not take.
driver::Resources least_need_of(const AwsLabel& label, const std::vector<InstanceType>& types);

// The names of the instance types of the label; empty: not configured.
std::vector<std::string> types_of(const AwsLabel& label);

// The quota codes that the provider's labels use.
std::set<std::string> relevant_codes(const AwsConfig& config);

// The limits for these codes, from the values of Service Quotas. Volume sizes are in GB.
driver::Limits limits_for(const std::set<std::string>& codes,
                          const std::map<std::string, double>& values);

}  // namespace nodepool::drivers::aws
