#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "driver/images.h"
#include "drivers/aws/api/ec2.h"
#include "drivers/aws/api/query.h"
#include "drivers/aws/config/aws_config.h"

namespace nodepool::drivers::aws {

// The parameters of a new instance.
struct RunInstancesRequest {
  const AwsPool& pool;
  const AwsLabel& label;
  std::string image_id;
  std::optional<Ami::RootDevice> root;  // of the image; nothing: unknown
  std::string zone;                     // empty: AWS chooses
  std::string host_id;                  // of a dedicated host; empty: none
  std::string token;                    // idempotency token
  driver::Metadata tags;                // of the instance and its volume
};

// Parameters of RunInstances.
Query instance_query(const RunInstancesRequest& request);

// Parameters of CreateFleet, for a label with a fleet. The launch template has the label's other
// settings.
Query fleet_query(const RunInstancesRequest& request, const std::string& template_name);

// Parameters of CreateLaunchTemplate, without name and tags: the label's settings.
Query template_data(const AwsPool& pool, const AwsLabel& label);
// The name of a launch template, with a hash of its data.
inline constexpr std::string_view kTemplatePrefix = "nodepool-launch-template-";
std::string template_name(const Query& data);

// Parameters of AllocateHosts.
Query host_query(const RunInstancesRequest& request);

}  // namespace nodepool::drivers::aws
