#include "drivers/aws/aws_adapter.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "driver/cloud_error.h"
#include "drivers/aws/api/s3.h"
#include "drivers/aws/external_id.h"
#include "drivers/aws/instance_removal.h"
#include "drivers/aws/usage.h"

namespace nodepool::drivers::aws {

using async::Task;
using driver::CloudError;

namespace {

constexpr const char* kVolumeResource = "volume";
constexpr const char* kHostResource = "host";
constexpr const char* kTemplateResource = "template";

// Unknown states count as running: only what EC2 calls an end is one.
driver::Machine::State state_of(const Ec2Instance& instance) {
  using State = driver::Machine::State;
  if (instance.is_gone()) return State::deleted;
  if (instance.is_going()) return State::deleting;
  if (instance.has_ended()) return State::stopped;
  return instance.state == "pending" ? State::building : State::running;
}

bool wants_hosts(const AwsConfig& config) {
  return std::ranges::any_of(config.pools(), [&config](const auto& pool) {
    return std::ranges::any_of(pool.second.labels, [&](const std::string& label) {
      return config.label(pool.first, label).dedicated_host;
    });
  });
}

}  // namespace

AwsAdapter::AwsAdapter(const cloud::AdapterContext& context,
                       std::shared_ptr<const AwsConfig> config,
                       std::shared_ptr<CloudEndpoint> endpoint)
    : config_(std::move(config)),
      endpoint_(std::move(endpoint)),
      membership_(endpoint_->join({.rate = config_->rate(), .on_attempt = context.on_attempt})),
      caller_(context.runtime, endpoint_->state(), context.log, context.on_attempt),
      ec2_(caller_),
      ebs_(caller_),
      imports_(caller_),
      s3_(s3_bucket(caller_, config_->bucket())),
      templates_(ec2_, *config_, context.installation),
      context_{context.runtime,         *config_,   ec2_,       endpoint_->view(),
               endpoint_->terminator(), templates_, context.log},
      images_(context.runtime, *config_, {ec2_, ebs_, imports_, s3_}, context.installation,
              context.threads, context.log),
      codes_(relevant_codes(*config_)) {}

Task<> AwsAdapter::stop() {
  co_await endpoint_->leave(membership_);
}

Task<driver::Instance> AwsAdapter::create(driver::CreateSpec spec, driver::LaunchSteps& steps) {
  InstanceLaunch launch(context_, std::move(spec), steps);
  co_return co_await launch.run();
}

Task<> AwsAdapter::remove(model::Json external_id, driver::LaunchSteps& steps) {
  std::function<void()> accepted = [&steps] { steps.removal_accepted(); };
  driver::Metadata owner;
  if (const model::Node* node = steps.node()) {
    owner = {{std::string(driver::kProviderNameKey), node->provider.value_or("")},
             {std::string(driver::kNodeIdKey), node->id}};
  }
  co_await remove_machine(context_, parse_external_id(external_id), std::move(owner),
                          std::move(accepted));
}

Task<driver::MachineList> AwsAdapter::list() {
  driver::MachineList machines;
  const auto list = co_await context_.view.instances().get(kPollInterval);
  std::vector<std::string> types;
  for (const Ec2Instance& instance : list->all()) {
    if (!instance.is_gone()) types.push_back(instance.type);
  }
  const auto known_types = co_await context_.view.types(std::move(types));
  const auto volumes = co_await volumes_of(*list);
  for (const Ec2Instance& instance : list->all()) {
    driver::Machine& machine = machines.machines.emplace_back(aws::describe(*config_, instance));
    machine.state = state_of(instance);
    machine.id = instance.id;
    if (instance.has_ended()) machine.explanation = state_in_words(instance);
    if (!instance.is_gone())
      machine.resources = instance_resources(instance, known_types, *volumes);
  }
  co_return machines;
}

Task<bool> AwsAdapter::is_absent(model::Json external_id) {
  std::string id;
  try {
    id = parse_external_id(external_id).instance;
  } catch (const CloudError&) {
    co_return true;
  }
  if (!id.starts_with("i-")) co_return true;  // EC2 refuses to look for it
  co_return co_await ec2_.is_gone(std::move(id));
}

// The listing of volumes may be old, unless it lacks volumes of the instances.
Task<std::shared_ptr<const cloud::ById<Ec2Volume>>> AwsAdapter::volumes_of(
    const cloud::ById<Ec2Instance>& instances) {
  const auto began = context_.runtime.clock.now();
  const auto volumes = co_await context_.view.volumes(kListAge);
  const auto is_listed = [&volumes](const std::string& id) { return volumes->find(id) != nullptr; };
  const bool is_complete =
      std::ranges::all_of(instances.all(), [&is_listed](const Ec2Instance& instance) {
        return instance.is_gone() || std::ranges::all_of(instance.volume_ids, is_listed);
      });
  if (is_complete) co_return volumes;
  co_return co_await context_.view.volumes(context_.runtime.clock.now() - began);
}

Task<std::vector<driver::Resource>> AwsAdapter::other_resources() {
  std::vector<driver::Resource> resources;
  // An attached volume is deleted with its instance.
  const auto volumes = co_await context_.view.volumes(kListAge);
  for (const Ec2Volume& volume : volumes->all()) {
    if (volume.state != "available" && volume.state != "error") continue;
    resources.push_back({.type = kVolumeResource, .id = volume.id, .metadata = volume.tags});
  }
  const std::vector<driver::Resource> hosts = co_await host_resources();
  resources.insert(resources.end(), hosts.begin(), hosts.end());
  const std::vector<driver::Resource> templates = co_await unused_templates();
  resources.insert(resources.end(), templates.begin(), templates.end());
  co_return resources;
}

// Searches even if no label has a dedicated host any more. An account that may not list hosts
// cannot have allocated any, so a provider without such labels needs no permission.
Task<std::vector<driver::Resource>> AwsAdapter::host_resources() {
  std::vector<driver::Resource> resources;
  if (!may_list_hosts_) co_return resources;
  try {
    const auto hosts = co_await context_.view.hosts(kListAge);
    for (const DedicatedHost& host : hosts->all()) {
      if (host.is_gone()) continue;
      resources.push_back({.type = kHostResource, .id = host.id, .metadata = host.tags});
    }
  } catch (const CloudError& error) {
    if (wants_hosts(*config_) || error.kind() != CloudError::Kind::permanent) throw;
    context_.log.info("Not searching for leaked dedicated hosts: {}", error.what());
    may_list_hosts_ = false;
  }
  co_return resources;
}

Task<> AwsAdapter::remove_resource(driver::Resource resource) {
  if (resource.type == kVolumeResource) {
    co_await ec2_.delete_volume(std::move(resource.id));
  } else if (resource.type == kHostResource) {
    co_await ec2_.release_host(std::move(resource.id));
  } else if (resource.type == kTemplateResource) {
    co_await ec2_.delete_template(std::move(resource.id));
  } else if (resource.type == driver::kInstanceResource) {
    co_await context_.terminator.terminate(std::move(resource.id));
  } else {
    throw CloudError(CloudError::Kind::permanent,
                     "resources of type `" + resource.type + "` are not supported");
  }
}

Task<std::vector<driver::Resource>> AwsAdapter::unused_templates() {
  std::vector<driver::Resource> resources;
  try {
    for (std::string& name : co_await templates_.unused()) {
      resources.push_back({.type = kTemplateResource,
                           .id = std::move(name),
                           .metadata = {},
                           .leftover = "no label uses it"});
    }
  } catch (const CloudError& error) {
    context_.log.error("Error searching for unused launch templates: {}", error.what());
  }
  co_return resources;
}

Task<driver::Limits> AwsAdapter::limits() {
  const auto values = co_await context_.view.quotas();
  for (const std::string& code : codes_) {
    if (!values->contains(code)) {
      context_.log.warning("Unknown quota {}: not limited", code);
    }
  }
  co_return limits_for(codes_, *values);
}

Task<driver::CloudDescription> AwsAdapter::describe(driver::CloudDescription::Purpose /*purpose*/) {
  driver::CloudDescription described;
  const driver::DescribeLabel describe = [this](std::string pool, std::string label) {
    return describe_label(std::move(pool), std::move(label));
  };
  described.labels = co_await driver::describe_labels(*config_, describe);
  if (config_->uses_cloud_quota()) described.limits = co_await limits();
  co_return described;
}

Task<driver::LabelDescription> AwsAdapter::describe_label(std::string pool, std::string label) {
  const AwsLabel& wanted = config_->label(pool, label);
  const std::vector<std::string> names = types_of(wanted);
  driver::LabelDescription described;
  if (wanted.dedicated_host && wanted.fleet) {
    described.problem = "a dedicated host does not go with a `fleet`";
    co_return described;
  }
  if (names.empty()) {
    described.problem = "the label has no instance type";
    co_return described;
  }
  const auto known = co_await context_.view.types(names);
  std::vector<InstanceType> types;
  types.reserve(known.size());
  for (const auto& [name, type] : known) types.push_back(type);
  if (types.empty()) {
    described.problem =
        fmt::format("EC2 has no instance type {} in this region", fmt::join(names, ", "));
    co_return described;
  }
  described.need = least_need_of(wanted, types);
  if (!config_->machine_label(pool, label).diskimage.empty()) co_return described;
  if (!wanted.cloud_image) {
    described.problem = driver::images_unavailable("the label has no image");
    co_return described;
  }
  const std::optional<std::string> id = co_await context_.view.image_id(*wanted.cloud_image);
  if (!id) described.problem = driver::images_unavailable("no AMI matches the filters");
  co_return described;
}

Task<std::optional<std::string>> AwsAdapter::diagnose(model::Json external_id, bool wants_console) {
  if (!wants_console) co_return std::nullopt;
  co_return co_await ec2_.console_output(parse_external_id(external_id).instance);
}

}  // namespace nodepool::drivers::aws
