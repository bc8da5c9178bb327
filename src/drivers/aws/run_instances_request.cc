#include "drivers/aws/run_instances_request.h"

#include <fmt/format.h>

#include "cloud/base64.h"
#include "cloud/digest.h"

namespace nodepool::drivers::aws {

namespace {

// The root device of most systems' images.
constexpr const char* kUsualDevice = "/dev/sda1";

std::string text_of(std::optional<std::int64_t> number) {
  return number ? std::to_string(*number) : std::string();
}

void add_network(Query& query, const AwsPool& pool) {
  const std::string interface = "NetworkInterface.1.";
  query.add(interface + "DeviceIndex", "0");
  query.add(interface + "AssociatePublicIpAddress", pool.public_ipv4);
  query.add_if_any(interface + "SubnetId", pool.subnet_id.value_or(""));
  query.add_if_any(interface + "SecurityGroupId.1", pool.security_group_id.value_or(""));
  if (pool.public_ipv6) query.add(interface + "Ipv6AddressCount", "1");
}

void add_placement(Query& query, const RunInstancesRequest& request) {
  query.add_if_any("Placement.AvailabilityZone", request.zone);
  if (request.host_id.empty()) return;
  query.add("Placement.Tenancy", "host").add("Placement.HostId", request.host_id);
  query.add("Placement.Affinity", "host");
}

void add_spot(Query& query) {
  query.add("InstanceMarketOptions.MarketType", "spot");
  query.add("InstanceMarketOptions.SpotOptions.SpotInstanceType", "one-time");
  query.add("InstanceMarketOptions.SpotOptions.InstanceInterruptionBehavior", "terminate");
}

// The parameters that instances and templates share; `prefix` precedes their names.
void add_options(Query& query, const std::string& before, const AwsLabel& label) {
  query.add_if_any(before + "KeyName", label.key_name.value_or(""));
  query.add(before + "EbsOptimized", label.ebs_optimized);
  if (label.userdata) query.add(before + "UserData", cloud::base64(*label.userdata));
  query.add_if_any(before + "IamInstanceProfile.Name", label.profile_name);
  query.add_if_any(before + "IamInstanceProfile.Arn", label.profile_arn);
  if (label.imdsv2.empty()) return;
  query.add(before + "MetadataOptions.HttpTokens", label.imdsv2);
  query.add(before + "MetadataOptions.HttpEndpoint", "enabled");
}

// The image's root volume with the label's options. It is deleted with the instance.
void add_disk(Query& query, const Ami::RootDevice& root, const VolumeOptions& wanted) {
  const bool is_other_type = !wanted.type.empty() && wanted.type != root.volume_type;
  const auto chosen = [is_other_type](std::optional<std::int64_t> of_label,
                                      std::optional<std::int64_t> of_image) {
    if (of_label) return text_of(of_label);
    // Other volume types may not support these.
    return is_other_type ? std::string() : text_of(of_image);
  };
  const std::string device = "BlockDeviceMapping.1.";
  query.add(device + "DeviceName", root.name);
  query.add(device + "Ebs.DeleteOnTermination", true);
  query.add_if_any(device + "Ebs.SnapshotId", root.snapshot_id);
  query.add_if_any(device + "Ebs.VolumeType", wanted.type.empty() ? root.volume_type : wanted.type);
  query.add_if_any(device + "Ebs.VolumeSize", text_of(wanted.size ? wanted.size : root.size));
  query.add_if_any(device + "Ebs.Iops", chosen(wanted.iops, root.iops));
  query.add_if_any(device + "Ebs.Throughput", chosen(wanted.throughput, root.throughput));
}

}  // namespace

Query instance_query(const RunInstancesRequest& request) {
  Query query;
  query.add("ImageId", request.image_id).add("MinCount", "1").add("MaxCount", "1");
  query.add("ClientToken", request.token).add("InstanceType", request.label.instance_type);
  add_options(query, "", request.label);
  add_network(query, request.pool);
  add_placement(query, request);
  if (request.label.use_spot) add_spot(query);
  if (request.root) add_disk(query, *request.root, request.label.volume);
  add_tags(query, 1, "instance", request.tags);
  add_tags(query, 2, "volume", request.tags);
  return query;
}

Query fleet_query(const RunInstancesRequest& request, const std::string& template_name) {
  const Fleet& fleet = request.label.fleet.value();
  const bool is_spot = request.label.use_spot;
  Query query;
  query.add("Type", "instant").add("ClientToken", request.token);
  query.add("TargetCapacitySpecification.TotalTargetCapacity", "1");
  query.add("TargetCapacitySpecification.DefaultTargetCapacityType",
            is_spot ? "spot" : "on-demand");
  query.add(is_spot ? "SpotOptions.AllocationStrategy" : "OnDemandOptions.AllocationStrategy",
            fleet.allocation_strategy);
  const std::string config = "LaunchTemplateConfigs.1.";
  query.add(config + "LaunchTemplateSpecification.LaunchTemplateName", template_name);
  query.add(config + "LaunchTemplateSpecification.Version", "$Latest");
  for (std::size_t i = 0; i < fleet.instance_types.size(); ++i) {
    const std::string choice = fmt::format("{}Overrides.{}.", config, i + 1);
    query.add(choice + "ImageId", request.image_id);
    query.add(choice + "InstanceType", fleet.instance_types[i]);
    query.add_if_any(choice + "SubnetId", request.pool.subnet_id.value_or(""));
    if (!request.pool.subnet_id) query.add_if_any(choice + "AvailabilityZone", request.zone);
    if (fleet.allocation_strategy == "prioritized")
      query.add(choice + "Priority", std::to_string(i));
  }
  add_tags(query, 1, "instance", request.tags);
  add_tags(query, 2, "volume", request.tags);
  return query;
}

Query template_data(const AwsPool& pool, const AwsLabel& label) {
  const std::string data = "LaunchTemplateData.";
  Query query;
  add_options(query, data, label);
  query.add_if_any(data + "SecurityGroupId.1", pool.security_group_id.value_or(""));
  const std::string device = data + "BlockDeviceMapping.1.";
  query.add(device + "DeviceName", kUsualDevice);
  query.add(device + "Ebs.DeleteOnTermination", true);
  query.add_if_any(device + "Ebs.VolumeType", label.volume.type);
  query.add_if_any(device + "Ebs.VolumeSize", text_of(label.volume.size));
  query.add_if_any(device + "Ebs.Iops", text_of(label.volume.iops));
  query.add_if_any(device + "Ebs.Throughput", text_of(label.volume.throughput));
  return query;
}

std::string template_name(const Query& data) {
  return std::string(kTemplatePrefix) + cloud::sha256_hex(data.text());
}

Query host_query(const RunInstancesRequest& request) {
  Query query;
  query.add("AutoPlacement", "off").add("AvailabilityZone", request.zone);
  query.add("InstanceType", request.label.instance_type).add("Quantity", "1");
  query.add("HostRecovery", "off").add("HostMaintenance", "off").add("ClientToken", request.token);
  add_tags(query, 1, "dedicated-host", request.tags);
  return query;
}

}  // namespace nodepool::drivers::aws
