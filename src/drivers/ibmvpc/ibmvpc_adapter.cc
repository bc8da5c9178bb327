#include "drivers/ibmvpc/ibmvpc_adapter.h"

#include <fmt/format.h>

#include <map>

#include "driver/cloud_error.h"
#include "drivers/ibmvpc/instance_removal.h"
#include "drivers/ibmvpc/owner_names.h"

namespace nodepool::drivers::ibmvpc {

using async::Task;
using driver::CloudError;

namespace {

constexpr std::string_view kFloatingIpResource =
    "floatingip";  // as in the Python Nodepool's metrics

// Unknown states count as running: only what IBM calls an end is one.
driver::Machine::State state_of(const VpcInstance& instance) {
  using State = driver::Machine::State;
  if (instance.is_coming()) return State::building;
  if (instance.is_off()) return State::stopped;
  if (instance.status == "failed") return State::failed;
  return instance.status == "deleting" ? State::deleting : State::running;
}

}  // namespace

IbmVpcAdapter::IbmVpcAdapter(const cloud::AdapterContext& context,
                             std::shared_ptr<const IbmVpcConfig> config,
                             std::shared_ptr<CloudEndpoint> endpoint)
    : config_(std::move(config)),
      endpoint_(std::move(endpoint)),
      membership_(endpoint_->join({.rate = config_->rate(), .on_attempt = context.on_attempt})),
      ownership_(context.installation, config_->name()),
      api_(context.runtime, endpoint_->account(), endpoint_->tokens(), endpoint_->rate_limit(),
           context.log, context.on_attempt),
      context_{context.runtime, *config_, api_, endpoint_->view(), context.log},
      images_(context.runtime, *config_, api_, endpoint_->view(), endpoint_->tokens(),
              context.installation, context.threads, context.log, context.on_attempt) {}

Task<> IbmVpcAdapter::stop() {
  co_await endpoint_->leave(membership_);
}

Task<driver::Instance> IbmVpcAdapter::create(driver::CreateSpec spec, driver::LaunchSteps& steps) {
  VpcLaunch launch(context_, std::move(spec), steps);
  co_return co_await launch.run();
}

Task<> IbmVpcAdapter::remove(model::Json external_id, driver::LaunchSteps& steps) {
  std::string name = external_id.string_value();
  if (name.empty()) {
    throw CloudError(CloudError::Kind::not_found,
                     "invalid external id of an instance: " + external_id.text);
  }
  MachineRemoval removal{.name = std::move(name),
                         .has_no_floating_ip = steps.is_known_private(),
                         .accepted = [&steps] { steps.removal_accepted(); }};
  co_await remove_machine(context_, ownership_, std::move(removal));
}

Task<driver::MachineList> IbmVpcAdapter::list() {
  driver::MachineList machines;
  const auto list = co_await context_.view.instances().get(kListingAge);
  for (const VpcInstance& instance : list->all()) {
    driver::Machine& machine =
        machines.machines.emplace_back(ibmvpc::describe(config_->account(), instance));
    machine.state = state_of(instance);
    machine.id = instance.id;
    if (!instance.is_running()) machine.explanation = state_in_words(instance);
    machine.resources = co_await context_.view.taken_by(instance.profile);
  }
  co_return machines;
}

// A floating IP belongs to the maker of the instance that it leads to. For another one, only the
// provider is known.
Task<std::vector<driver::Resource>> IbmVpcAdapter::other_resources() {
  const auto instances = co_await context_.view.instances().get(kListingAge);
  std::map<std::string, const VpcInstance*> targets;
  for (const VpcInstance& instance : instances->all()) {
    if (!instance.interface_id.empty()) targets.emplace(instance.interface_id, &instance);
  }
  std::vector<driver::Resource> resources;
  const auto list = co_await context_.view.floating_ips().get(kListingAge);
  for (const VpcFloatingIp& ip : list->all()) {
    const auto target = targets.find(ip.target);
    const std::string disk = target == targets.end() || target->second->name != ip.name
                                 ? std::string()
                                 : target->second->boot_disk_name;
    driver::Resource& resource = resources.emplace_back();
    resource.type = kFloatingIpResource;
    resource.id = ip.id;
    resource.metadata = owner_tags(ip.name, ip.group, disk);
  }
  co_return resources;
}

Task<> IbmVpcAdapter::remove_resource(driver::Resource resource) {
  if (resource.type == driver::kInstanceResource) {
    co_await begin_removal(context_, std::move(resource.id));
  } else if (resource.type == kFloatingIpResource) {
    co_await api_.remove_floating_ip(std::move(resource.id));
  } else {
    throw CloudError(CloudError::Kind::permanent,
                     "resources of type `" + resource.type + "` are not supported");
  }
}

Task<driver::CloudDescription> IbmVpcAdapter::describe(
    driver::CloudDescription::Purpose /*purpose*/) {
  driver::CloudDescription described;
  const driver::DescribeLabel describe = [this](std::string pool, std::string label) {
    return describe_label(std::move(pool), std::move(label));
  };
  described.labels = co_await driver::describe_labels(*config_, describe);
  described.limits = config_->quota();
  co_return described;
}

Task<driver::LabelDescription> IbmVpcAdapter::describe_label(std::string pool, std::string label) {
  const VpcLabel& wanted = config_->label(pool, label);
  const auto profile = co_await context_.view.profile(wanted.profile, kCatalogAge);
  const auto names = co_await context_.view.names(config_->vpc(), wanted, kCatalogAge);
  driver::LabelDescription described;
  described.need = co_await context_.view.taken_by(wanted.profile);
  if (!profile) {
    described.problem = fmt::format("region {} has no instance profile {}",
                                    config_->account().region, wanted.profile);
  } else if (const auto lack = names->lack_of(config_->vpc(), wanted)) {
    described.problem = *lack;
  } else if (wanted.image && wanted.image->id.empty() && wanted.image->href.empty()) {
    const std::optional<VpcImage> image = co_await context_.view.image(*wanted.image);
    const std::string& name = wanted.image->name;
    if (!image) {
      described.problem = driver::images_unavailable(
          name.empty() ? "no image fits `image-filter`" : "there is no image `" + name + "`");
    }
  } else if (!wanted.image && config_->machine_label(pool, label).diskimage.empty()) {
    described.problem = driver::images_unavailable("the label has no image");
  }
  co_return described;
}

}  // namespace nodepool::drivers::ibmvpc
