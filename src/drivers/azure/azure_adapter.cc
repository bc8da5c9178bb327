#include "drivers/azure/azure_adapter.h"

#include <fmt/format.h>

#include <algorithm>

#include "driver/cloud_error.h"
#include "driver/statemachine/shared_poller.h"
#include "drivers/azure/names.h"
#include "drivers/azure/poll_intervals.h"
#include "drivers/azure/vm_removal.h"

namespace nodepool::drivers::azure {

using async::Task;
using driver::CloudError;

namespace {

constexpr const char* kInterfaceResource = "nic";
constexpr const char* kAddressResource = "pip";
constexpr const char* kDiskResource = "disk";

// A machine whose last change has failed, such as an extension's, may well run.
driver::Machine::State state_of(const VirtualMachine& machine, const PowerState* power) {
  using State = driver::Machine::State;
  if (machine.is_going()) return State::deleting;
  if (machine.state == "Creating") return State::building;
  return power != nullptr && power->is_off() ? State::stopped : State::running;
}

bool uses_spot(const AzureConfig& config) {
  return std::ranges::any_of(config.pools(), [&config](const auto& pool) {
    return std::ranges::any_of(pool.second.labels, [&](const std::string& label) {
      return config.label(pool.first, label).use_spot;
    });
  });
}

}  // namespace

AzureAdapter::AzureAdapter(const cloud::AdapterContext& context,
                           std::shared_ptr<const AzureConfig> config,
                           std::shared_ptr<CloudEndpoint> endpoint)
    : config_(std::move(config)),
      endpoint_(std::move(endpoint)),
      membership_(endpoint_->join({.rate = config_->rate(), .on_attempt = context.on_attempt})),
      ownership_(context.installation, config_->name()),
      manager_(context.runtime, endpoint_->account(), endpoint_->tokens(), endpoint_->rate_limit(),
               context.log, context.on_attempt),
      context_{context.runtime, *config_, manager_, endpoint_->view(), ownership_, context.log},
      images_(context.runtime, *config_, manager_, endpoint_->view(), context.threads, context.log,
              context.on_attempt) {}

Task<> AzureAdapter::stop() {
  co_await endpoint_->leave(membership_);
}

driver::CloudTraits AzureAdapter::traits() {
  return {.images = &images_, .consistency_delay = kConsistencyDelay};
}

Task<driver::Instance> AzureAdapter::create(driver::CreateSpec spec, driver::LaunchSteps& steps) {
  VmLaunch launch(context_, std::move(spec), steps);
  co_return co_await launch.run();
}

Task<> AzureAdapter::remove(model::Json external_id, driver::LaunchSteps& steps) {
  std::function<void()> accepted = [&steps] { steps.removal_accepted(); };
  co_await remove_vm(context_, machine_name(external_id), std::move(accepted));
}

Task<driver::MachineList> AzureAdapter::list() {
  driver::MachineList machines;
  const auto list = co_await context_.view.machines().get(kPollInterval);
  // If they cannot be read now, what runs is unknown, and the listing still shows what exists.
  Task<std::shared_ptr<const CloudView::PowerStates>> reading = context_.view.power_states();
  const auto states =
      co_await driver::if_answered(std::move(reading), "states of virtual machines", context_.log);
  for (const VirtualMachine& listed : list->all()) {
    driver::Machine& machine = machines.machines.emplace_back(azure::describe(listed));
    const PowerState* power = states ? states->find(lowered(listed.id)) : nullptr;
    machine.state = state_of(listed, power);
    if (listed.is_going()) machine.explanation = state_in_words(kMachineType.what, listed);
    if (power != nullptr && machine.state == driver::Machine::State::stopped) {
      machine.explanation =
          fmt::format("{} {} is {}", kMachineType.what, listed.name, power->power);
    }
    machine.resources = co_await context_.view.known_taken_by(listed.size, listed.is_spot);
  }
  co_return machines;
}

// Resources that another one uses are not found: that one is deleted first.
Task<std::vector<driver::Resource>> AzureAdapter::other_resources() {
  const std::string& installation = ownership_.installation().id;
  const std::string mark = owner_mark(ownership_.installation(), config_->name());
  driver::Metadata owner{{std::string(driver::kProviderNameKey), config_->name()}};
  if (!installation.empty()) owner.emplace(driver::kInstallationIdKey, installation);
  std::vector<driver::Resource> found;
  const auto add = [&](const char* type, const auto& listing) {
    for (const auto& each : listing) {
      const std::optional<std::string> node = node_of_part(each.name, mark);
      if (!node || each.is_going() || each.is_attached) continue;
      driver::Resource& part =
          found.emplace_back(driver::Resource{.type = type, .id = each.name, .metadata = owner});
      part.metadata.emplace(driver::kNodeIdKey, *node);
    }
  };
  const auto interfaces = co_await context_.view.interfaces(kListAge);
  add(kInterfaceResource, interfaces->all());
  const auto addresses = co_await context_.view.addresses(kListAge);
  add(kAddressResource, addresses->all());
  const auto disks = co_await context_.view.disks(kListAge);
  add(kDiskResource, *disks);
  co_return found;
}

Task<> AzureAdapter::remove_resource(driver::Resource resource) {
  const std::map<std::string, ResourceType> types = {{kInterfaceResource, kInterfaceType},
                                                     {kAddressResource, kAddressType},
                                                     {kDiskResource, kDiskType}};
  if (resource.type == driver::kInstanceResource) {
    co_await remove_vm(context_, lowered(resource.id), {});
    co_return;
  }
  const auto type = types.find(resource.type);
  if (type == types.end()) co_await driver::Adapter::remove_resource(resource);
  std::optional<LongOperation> removing = co_await manager_.remove(type->second, resource.id);
  if (removing) co_await manager_.finish(std::move(*removing));
}

// A spot machine takes "cores" as well, so that the node's record has them.
Task<driver::Limits> AzureAdapter::limits() {
  const auto all = co_await context_.view.limits();
  driver::Limits limits;
  for (const auto& [name, resource] :
       {std::pair("cores", "cores"), std::pair("virtualMachines", "instances")}) {
    if (all->contains(name)) limits[resource] = all->find(name)->second;
  }
  const auto spot = all->find(kSpotCores);
  if (uses_spot(*config_) && spot != all->end() && limits.contains("cores")) {
    limits["cores"] += spot->second;
  }
  co_return limits;
}

Task<driver::CloudDescription> AzureAdapter::describe(driver::CloudDescription::Purpose purpose) {
  driver::CloudDescription described;
  const driver::DescribeLabel describe = [this](std::string pool, std::string label) {
    return describe_label(std::move(pool), std::move(label));
  };
  described.labels = co_await driver::describe_labels(*config_, describe);
  described.limits = co_await limits();
  // The limits of the families that the labels use.
  const auto all = co_await context_.view.limits();
  for (const auto& [key, label] : described.labels) {
    for (const auto& [resource, amount] : label.need.amounts()) {
      const auto limit = all->find(resource);
      if (limit != all->end()) described.limits.emplace(resource, limit->second);
    }
  }
  if (purpose == driver::CloudDescription::Purpose::check) described.missing = co_await missing();
  co_return described;
}

Task<driver::LabelDescription> AzureAdapter::describe_label(std::string pool, std::string label) {
  const AzureLabel& wanted = config_->label(pool, label);
  driver::LabelDescription described;
  std::optional<VmSize> size = co_await context_.view.size(wanted.size, kSizesAge);
  const bool may_be_new = !size || !size->is_offered;
  if (may_be_new) size = co_await context_.view.size(wanted.size, kLookupAge);
  const bool has_sizes = size || co_await context_.view.has_sizes();
  if (!has_sizes) {
    throw CloudError(CloudError::Kind::failed, "azure: list sizes: there are none in location " +
                                                   config_->account().location);
  }
  described.need = co_await context_.view.taken_by(wanted.size, wanted.use_spot);
  if (!size || !size->is_offered) {
    described.problem =
        fmt::format("location {} {} size {}", config_->account().location,
                    size ? "does not offer the subscription" : "has no", wanted.size);
    co_return described;
  }
  if (!wanted.image) {
    described.problem = driver::images_unavailable("the label has no image");
    co_return described;
  }
  if (!wanted.image->filter) co_return described;
  const std::optional<std::string> id = co_await context_.view.image_id(*wanted.image->filter);
  if (!id) described.problem = driver::images_unavailable("no image matches the filter");
  co_return described;
}

Task<std::vector<std::string>> AzureAdapter::missing() {
  std::vector<std::string> lacks;
  const bool has_subnet = co_await manager_.subnet_exists(config_->subnet_id());
  if (!has_subnet) lacks.push_back("there is no subnet `" + config_->subnet_id() + "`");
  co_return lacks;
}

Task<std::optional<std::string>> AzureAdapter::diagnose(model::Json external_id,
                                                        bool wants_console) {
  if (!wants_console) co_return std::nullopt;
  co_return co_await manager_.console_log(machine_name(external_id));
}

}  // namespace nodepool::drivers::azure
