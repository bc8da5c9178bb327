#include "drivers/aws/run_instances_request.h"

#include <fmt/format.h>

#include "cloud/base64.h"
#include "drivers/aws/api/signature.h"

namespace nodepool::drivers::aws {

namespace {

// Where the images of most systems have the disk that they boot from.
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

void add_placement(Query& query, const RunInstancesRequest& order) {
  query.add_if_any("Placement.AvailabilityZone", order.zone);
  if (order.host_id.empty()) return;
  query.add("Placement.Tenancy", "host").add("Placement.HostId", order.host_id);
  query.add("Placement.Affinity", "host");
}

void add_spot(Query& query) {
  query.add("InstanceMarketOptions.MarketType", "spot");
  query.add("InstanceMarketOptions.SpotOptions.SpotInstanceType", "one-time");
  query.add("InstanceMarketOptions.SpotOptions.InstanceInterruptionBehavior", "terminate");
}

// What both kinds of calls have, with what stands before the names of one of them.
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

// The image's own disk, with what the label says of it. It goes when the machine goes.
void add_disk(Query& query, const Ami::RootDevice& root, const VolumeOptions& wanted) {
  const bool is_other_type = !wanted.type.empty() && wanted.type != root.volume_type;
  const auto chosen = [is_other_type](std::optional<std::int64_t> of_label,
                                      std::optional<std::int64_t> of_image) {
    if (of_label) return text_of(of_label);
    // Another type may not have such a thing.
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

Query instance_query(const RunInstancesRequest& order) {
  Query query;
  query.add("ImageId", order.image_id).add("MinCount", "1").add("MaxCount", "1");
  query.add("ClientToken", order.token).add("InstanceType", order.label.instance_type);
  add_options(query, "", order.label);
  add_network(query, order.pool);
  add_placement(query, order);
  if (order.label.use_spot) add_spot(query);
  if (order.root) add_disk(query, *order.root, order.label.volume);
  add_tags(query, 1, "instance", order.tags);
  add_tags(query, 2, "volume", order.tags);
  return query;
}

Query fleet_query(const RunInstancesRequest& order, const std::string& template_name) {
  const Fleet& fleet = order.label.fleet.value();
  const bool is_spot = order.label.use_spot;
  Query query;
  query.add("Type", "instant").add("ClientToken", order.token);
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
    query.add(choice + "ImageId", order.image_id);
    query.add(choice + "InstanceType", fleet.instance_types[i]);
    query.add_if_any(choice + "SubnetId", order.pool.subnet_id.value_or(""));
    if (!order.pool.subnet_id) query.add_if_any(choice + "AvailabilityZone", order.zone);
    if (fleet.allocation_strategy == "prioritized")
      query.add(choice + "Priority", std::to_string(i));
  }
  add_tags(query, 1, "instance", order.tags);
  add_tags(query, 2, "volume", order.tags);
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
  return std::string(kTemplatePrefix) + sha256_hex(data.text());
}

Query host_query(const RunInstancesRequest& order) {
  Query query;
  query.add("AutoPlacement", "off").add("AvailabilityZone", order.zone);
  query.add("InstanceType", order.label.instance_type).add("Quantity", "1");
  query.add("HostRecovery", "off").add("HostMaintenance", "off").add("ClientToken", order.token);
  add_tags(query, 1, "dedicated-host", order.tags);
  return query;
}

}  // namespace nodepool::drivers::aws
