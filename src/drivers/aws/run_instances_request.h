#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "driver/images.h"
#include "drivers/aws/api/ec2.h"
#include "drivers/aws/api/query.h"
#include "drivers/aws/config/aws_config.h"

namespace nodepool::drivers::aws {

// A machine that is to be made, as it is asked for.
struct RunInstancesRequest {
  const AwsPool& pool;
  const AwsLabel& label;
  std::string image_id;
  std::optional<Ami::RootDevice> root;  // of the image, as far as it is known
  std::string zone;                     // empty: AWS chooses
  std::string host_id;                  // of a dedicated host; empty: none
  std::string token;                    // by which the call is carried out once
  driver::Metadata tags;                // of the machine and its disk
};

// For RunInstances.
Query instance_query(const RunInstancesRequest& order);

// For CreateFleet, of a label with a fleet: what else it has is in the template with this name.
Query fleet_query(const RunInstancesRequest& order, const std::string& template_name);

// For CreateLaunchTemplate, without name and tags: what a label's machines have in common.
Query template_data(const AwsPool& pool, const AwsLabel& label);
// The name says what is in it.
inline constexpr std::string_view kTemplatePrefix = "nodepool-launch-template-";
std::string template_name(const Query& data);

// For AllocateHosts.
Query host_query(const RunInstancesRequest& order);

}  // namespace nodepool::drivers::aws
