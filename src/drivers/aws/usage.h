#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "driver/resources.h"
#include "drivers/aws/api/ec2.h"
#include "drivers/aws/config/aws_config.h"

namespace nodepool::drivers::aws {

// What a machine of the type takes: instances, cores, ram, and virtual CPUs by the quota's code.
driver::Resources instance_resources(const InstanceType& type, bool is_spot);

// What a machine with a dedicated host takes: an instance, and a host for its type.
driver::Resources resources_of_host(const std::string& instance_type);

// What a volume takes: its size, and its operations where these are counted.
driver::Resources resources_of_volume(const std::string& type, double size, double iops);

// What a machine with the label takes that is of this type.
driver::Resources label_resources(const AwsLabel& label, const InstanceType& type);

// The same of a machine that is of one of these types, of which there is at least one: the least
// that any of them takes, of each resource. What one of them does not take at all does not count.
driver::Resources least_need_of(const AwsLabel& label, const std::vector<InstanceType>& types);

// The names of the types that a machine with the label may be of; empty: it says none.
std::vector<std::string> types_of(const AwsLabel& label);

// The codes that any label of the provider needs: the others are of no interest.
std::set<std::string> relevant_codes(const AwsConfig& config);

// The limits for these codes, of what Service Quotas says. Sizes of volumes are in GB.
driver::Limits limits_for(const std::set<std::string>& codes,
                          const std::map<std::string, double>& values);

}  // namespace nodepool::drivers::aws
