#include "drivers/aws/instance_launch.h"

#include <fmt/format.h>

#include <algorithm>

#include "cloud/base64.h"
#include "cloud/metadata.h"
#include "driver/cloud_error.h"
#include "driver/ownership.h"
#include "drivers/aws/external_id.h"
#include "drivers/aws/usage.h"

namespace nodepool::drivers::aws {

using async::Task;
using driver::CloudError;
using driver::Instance;

namespace {

// Why a machine did not come up.
CloudError failure_of(const Ec2Instance& instance) {
  const auto says = [&instance](std::string_view word) {
    return instance.reason_code.find(word) != std::string::npos;
  };
  CloudError::Kind kind = CloudError::Kind::failed;
  if (says("LimitExceeded")) kind = CloudError::Kind::quota;
  if (says("InsufficientInstanceCapacity")) kind = CloudError::Kind::no_capacity;
  return {kind, fmt::format("instance {} is {}: {}", instance.id, instance.state,
                            instance.reason.empty() ? "EC2 does not say why" : instance.reason)};
}

bool may_pass(const CloudError& error) {
  return error.kind() == CloudError::Kind::transient || error.kind() == CloudError::Kind::auth;
}

void add_tags(Query& query, int number, std::string_view type, const driver::Metadata& tags) {
  const std::string specification = fmt::format("TagSpecification.{}", number);
  query.add(specification + ".ResourceType", std::string(type));
  int tag = 0;
  for (const auto& [key, value] : tags) {
    const std::string name = fmt::format("{}.Tag.{}", specification, ++tag);
    query.add(name + ".Key", key).add(name + ".Value", value);
  }
}

void append(Query& query, const Query& more) {
  for (const auto& [name, value] : more.parameters()) query.add(name, value);
}

std::string number_or_nothing(std::optional<std::int64_t> number) {
  return number ? std::to_string(*number) : std::string();
}

}  // namespace

InstanceLaunch::InstanceLaunch(MachineContext context, driver::CreateSpec spec,
                               driver::StateMachine& machine)
    : context_(std::move(context)),
      spec_(std::move(spec)),
      machine_(machine),
      requested_at_(context_.runtime.clock.now()),
      awaited_(context_.view.instances().await_earlier()) {}

const AwsLabel& InstanceLaunch::label() const {
  return context_.config.label(spec_.pool, spec_.label);
}

Task<Instance> InstanceLaunch::run() {
  machine_.enter("creating instance");
  const driver::StateMachine::Make make = [this] { return make_instance(); };
  const driver::StateMachine::Find find = [this] { return find_instance(); };
  const std::string id = co_await machine_.step("instance", make, find);
  machine_.enter("waiting for the instance");
  Ec2Instance instance = co_await wait_until_running(id);
  Instance described = co_await describe(context_, std::move(instance));
  described.node_properties = model::Json::parse(
      fmt::format(R"({{"fleet": {}, "spot": {}}})", label().fleet.has_value(), label().use_spot));
  co_return described;
}

Task<std::string> InstanceLaunch::make_instance() {
  Query query = co_await request();
  requested_at_ = context_.runtime.clock.now();
  std::string id;
  try {
    id = co_await context_.ec2.run_instance(std::move(query));
  } catch (const CloudError& error) {
    if (error.kind() == CloudError::Kind::quota) context_.view.forget();
    if (error.kind() != CloudError::Kind::not_found) throw;
    context_.view.forget();  // the image may have been replaced
    throw CloudError(CloudError::Kind::failed, error.what());
  }
  awaited_ = context_.view.instances().await(spec_.expectation());
  machine_.set_external_id(to_json({.instance = id, .host = {}}));
  co_return id;
}

Task<Query> InstanceLaunch::request() {
  const AwsLabel& wanted = label();
  const std::string image = co_await image_id();
  Query query;
  query.add("ImageId", image).add("MinCount", "1").add("MaxCount", "1");
  query.add("ClientToken", context_.runtime.random.uuid_hex());
  query.add("InstanceType", wanted.instance_type).add("EbsOptimized", wanted.ebs_optimized);
  query.add_if_any("KeyName", wanted.key_name.value_or(""));
  add_network(query);
  add_placement(query);
  if (wanted.userdata) query.add("UserData", cloud::base64(*wanted.userdata));
  query.add_if_any("IamInstanceProfile.Name", wanted.profile_name);
  query.add_if_any("IamInstanceProfile.Arn", wanted.profile_arn);
  if (!wanted.imdsv2.empty()) {
    query.add("MetadataOptions.HttpTokens", wanted.imdsv2);
    query.add("MetadataOptions.HttpEndpoint", "enabled");
  }
  if (wanted.use_spot) {
    query.add("InstanceMarketOptions.MarketType", "spot");
    query.add("InstanceMarketOptions.SpotOptions.SpotInstanceType", "one-time");
    query.add("InstanceMarketOptions.SpotOptions.InstanceInterruptionBehavior", "terminate");
  }
  append(query, co_await disk(image));
  const driver::Metadata all = tags();
  add_tags(query, 1, "instance", all);
  add_tags(query, 2, "volume", all);
  co_return query;
}

void InstanceLaunch::add_network(Query& query) const {
  const AwsPool& pool = context_.config.pool(spec_.pool);
  const std::string interface = "NetworkInterface.1.";
  query.add(interface + "DeviceIndex", "0");
  query.add(interface + "AssociatePublicIpAddress", pool.public_ipv4);
  query.add_if_any(interface + "SubnetId", pool.subnet_id.value_or(""));
  query.add_if_any(interface + "SecurityGroupId.1", pool.security_group_id.value_or(""));
  if (pool.public_ipv6) query.add(interface + "Ipv6AddressCount", "1");
}

void InstanceLaunch::add_placement(Query& query) const {
  query.add_if_any("Placement.AvailabilityZone", spec_.az.value_or(""));
}

// The image's own disk, with what the label says of it. It goes when the machine goes.
Task<Query> InstanceLaunch::disk(std::string image_id) {
  Query query;
  const std::optional<Ami::RootDevice> root = co_await context_.view.root_device(image_id);
  if (!root) co_return query;
  const VolumeOptions& wanted = label().volume;
  const bool is_other_type = !wanted.type.empty() && wanted.type != root->volume_type;
  const auto kept = [is_other_type](std::optional<std::int64_t> of_image) {
    return is_other_type ? std::nullopt : of_image;  // another type may not have such a thing
  };
  const std::string device = "BlockDeviceMapping.1.";
  query.add(device + "DeviceName", root->name);
  query.add(device + "Ebs.DeleteOnTermination", true);
  query.add_if_any(device + "Ebs.SnapshotId", root->snapshot_id);
  query.add_if_any(device + "Ebs.VolumeType",
                   wanted.type.empty() ? root->volume_type : wanted.type);
  query.add_if_any(device + "Ebs.VolumeSize",
                   number_or_nothing(wanted.size ? wanted.size : root->size));
  query.add_if_any(device + "Ebs.Iops",
                   number_or_nothing(wanted.iops ? wanted.iops : kept(root->iops)));
  query.add_if_any(
      device + "Ebs.Throughput",
      number_or_nothing(wanted.throughput ? wanted.throughput : kept(root->throughput)));
  co_return query;
}

Task<std::string> InstanceLaunch::image_id() {
  if (!spec_.image_external_id.empty()) co_return spec_.image_external_id;
  const std::optional<AmiReference> image = label().cloud_image;
  std::optional<std::string> id;
  if (image) id = co_await context_.view.image_id(*image);
  if (!id) {
    throw CloudError(CloudError::Kind::failed,
                     "no AMI meets the filters of `" + spec_.image_name + "`");
  }
  co_return *id;
}

driver::Metadata InstanceLaunch::tags() const {
  const cloud::LabelMetadata wanted{.fixed = label().tags, .dynamic = label().dynamic_tags};
  driver::Metadata tags = cloud::machine_metadata(wanted, spec_, "dynamic-tags", context_.log);
  tags["Name"] = spec_.hostname;
  return tags;
}

// In a list from after the request: an older one may show what an earlier attempt made.
Task<std::optional<std::string>> InstanceLaunch::find_instance() {
  const async::Duration since_request = context_.runtime.clock.now() - requested_at_;
  const auto list =
      co_await context_.view.instances().get(std::min(context_.pace.poll, since_request));
  const auto ours = [this](const Ec2Instance& instance) {
    return !instance.is_going() && driver::carries(instance.tags, spec_.metadata);
  };
  const auto found = std::ranges::find_if(list->all(), ours);
  if (found == list->all().end() || spec_.metadata.empty()) co_return std::nullopt;
  machine_.set_external_id(to_json({.instance = found->id, .host = {}}));
  co_return found->id;
}

Task<Ec2Instance> InstanceLaunch::wait_until_running(std::string id) {
  async::Clock& clock = context_.runtime.clock;
  auto last_seen = clock.now();
  while (true) {
    const auto list = co_await instances_if_answered(context_, awaited_);
    const Ec2Instance* instance = list ? list->find(id) : nullptr;
    if (instance != nullptr) {
      if (instance->state == "running") {
        spec_.learn(awaited_.taken(clock.now()));
        co_return *instance;
      }
      if (instance->state != "pending") throw failure_of(*instance);
    }
    if (instance != nullptr || !list) last_seen = clock.now();
    if (clock.now() - last_seen > context_.pace.settling_time) {
      throw CloudError(CloudError::Kind::failed, "instance " + id + " has vanished");
    }
  }
}

Task<std::shared_ptr<const Things<Ec2Instance>>> instances_if_answered(MachineContext context,
                                                                       driver::Awaited& awaited) {
  try {
    co_return co_await context.view.instances().next(awaited);
  } catch (const CloudError& error) {
    if (!may_pass(error)) throw;
    context.log.warning("Instances cannot be listed for now: {}", error.what());
  }
  co_return nullptr;
}

Task<Instance> describe(MachineContext context, Ec2Instance instance) {
  const auto types = co_await context.view.types({instance.type});
  Instance described;
  described.external_id = to_json({.instance = instance.id, .host = instance.host_id});
  described.metadata = instance.tags;
  const auto type = types.find(instance.type);
  described.resources = type == types.end() ? driver::Resources({{"instances", 1}})
                                            : resources_of(type->second, instance.is_spot);
  auto volumes = co_await context.view.volumes(context.pace.list_age);
  const bool is_new = std::ranges::any_of(instance.volume_ids, [&volumes](const std::string& id) {
    return volumes->find(id) == nullptr;
  });
  if (is_new) volumes = co_await context.view.volumes(context.pace.expected_poll);
  for (const std::string& id : instance.volume_ids) {
    const Ec2Volume* volume = volumes->find(id);
    if (volume == nullptr) continue;  // just attached, or just gone
    described.resources += resources_of_volume(volume->type, volume->size, volume->iops);
  }
  const auto if_any = [](const std::string& text) -> std::optional<std::string> {
    return text.empty() ? std::nullopt : std::optional(text);
  };
  described.public_ipv4 = if_any(instance.public_ipv4);
  described.public_ipv6 = if_any(instance.ipv6);
  described.private_ipv4 = if_any(instance.private_ipv4);
  described.interface_ip = described.public_ipv4;
  if (!described.interface_ip) described.interface_ip = described.public_ipv6;
  if (!described.interface_ip) described.interface_ip = described.private_ipv4;
  described.cloud = "AWS";
  described.region = context.config.account().region;
  described.az = if_any(instance.zone);
  co_return described;
}

}  // namespace nodepool::drivers::aws
