#include "drivers/gce/gce_adapter.h"

#include <fmt/format.h>

#include <set>

#include "driver/cloud_error.h"

namespace nodepool::drivers::gce {

using async::Task;
using driver::CloudError;

namespace {

// Unknown states count as running: only what Google calls an end is one.
driver::Machine::State state_of(const ComputeInstance& instance) {
  using State = driver::Machine::State;
  if (instance.is_coming()) return State::building;
  if (instance.is_off()) return State::stopped;
  return instance.is_going() ? State::deleting : State::running;
}

// The limit of instances, and those of what the labels take.
driver::Limits limits_for(const driver::CloudDescription& described, const driver::Limits& quotas) {
  driver::Limits limits;
  const auto instances = quotas.find("INSTANCES");
  if (instances != quotas.end()) limits["instances"] = instances->second;
  for (const auto& [key, label] : described.labels) {
    for (const auto& [resource, amount] : label.need.amounts()) {
      const auto quota = quotas.find(resource);
      if (quota != quotas.end()) limits.emplace(resource, quota->second);
    }
  }
  return limits;
}

}  // namespace

GceAdapter::GceAdapter(const cloud::AdapterContext& context,
                       std::shared_ptr<const GceConfig> config,
                       std::shared_ptr<CloudEndpoint> endpoint)
    : config_(std::move(config)),
      endpoint_(std::move(endpoint)),
      membership_(endpoint_->join({.rate = config_->rate(), .on_attempt = context.on_attempt})),
      ownership_(context.installation, config_->name()),
      compute_(context.runtime, endpoint_->account(), endpoint_->tokens(), endpoint_->rate_limit(),
               context.log, context.on_attempt),
      context_{context.runtime, *config_, compute_, endpoint_->view(), context.log} {}

Task<> GceAdapter::stop() {
  co_await endpoint_->leave(membership_);
}

Task<driver::Instance> GceAdapter::create(driver::CreateSpec spec, driver::LaunchSteps& steps) {
  InstanceLaunch launch(context_, std::move(spec), steps);
  co_return co_await launch.run();
}

// Names of instances are those of nodes, so that two installations in a zone may want the same. An
// instance that is not listed may have been made by another one since.
Task<bool> GceAdapter::is_foreign(std::string name) {
  using Maker = driver::Ownership::Maker;
  auto list = co_await context_.view.instances().get(kPollInterval);
  if (list->find(name) == nullptr) {
    list = co_await context_.view.instances().get(async::Duration::zero());
  }
  const ComputeInstance* instance = list->find(name);
  if (instance == nullptr) co_return false;
  const Maker maker = ownership_.maker_of(instance->metadata);
  co_return maker == Maker::other_provider || maker == Maker::other_installation;
}

Task<> GceAdapter::remove(model::Json external_id, driver::LaunchSteps& steps) {
  const std::string name = external_id.string_value();
  if (name.empty()) {
    throw CloudError(CloudError::Kind::not_found,
                     "invalid external id of an instance: " + external_id.text);
  }
  if (co_await is_foreign(name)) {
    context_.log.warning("Instance {} belongs to another provider or installation, not deleting it",
                         name);
    co_return;
  }
  std::function<void()> accepted = [&steps] { steps.removal_accepted(); };
  co_await remove_instance(context_, name, std::move(accepted));
}

Task<driver::MachineList> GceAdapter::list() {
  driver::MachineList machines;
  const auto list = co_await context_.view.instances().get(kListingAge);
  for (const ComputeInstance& instance : list->all()) {
    driver::Machine& machine =
        machines.machines.emplace_back(gce::describe(config_->account(), instance));
    machine.state = state_of(instance);
    if (!instance.is_running()) machine.explanation = state_in_words(instance);
    if (instance.is_off()) continue;  // takes no processors
    machine.resources = co_await context_.view.taken_by(instance.machine_type);
  }
  co_return machines;
}

Task<bool> GceAdapter::is_absent(model::Json external_id) {
  std::string name = external_id.string_value();
  if (name.empty()) co_return true;  // no machine can have such an id
  co_return co_await compute_.is_gone(std::move(name));
}

Task<> GceAdapter::remove_resource(driver::Resource resource) {
  if (resource.type != driver::kInstanceResource) {
    throw CloudError(CloudError::Kind::permanent,
                     "resources of type `" + resource.type + "` are not supported");
  }
  co_await compute_.remove(std::move(resource.id));
}

Task<driver::CloudDescription> GceAdapter::describe(driver::CloudDescription::Purpose purpose) {
  driver::CloudDescription described;
  const driver::DescribeLabel describe = [this](std::string pool, std::string label) {
    return describe_label(std::move(pool), std::move(label));
  };
  described.labels = co_await driver::describe_labels(*config_, describe);
  const std::optional<driver::Limits> quotas = co_await context_.view.quotas();
  if (quotas) described.limits = limits_for(described, *quotas);
  if (purpose == driver::CloudDescription::Purpose::check) {
    described.missing = co_await missing();
    if (!quotas)
      described.missing.push_back("there is no region `" + config_->account().region + "`");
  }
  co_return described;
}

Task<driver::LabelDescription> GceAdapter::describe_label(std::string pool, std::string label) {
  const GceLabel& wanted = config_->label(pool, label);
  driver::LabelDescription described;
  if (wanted.instance_type.empty()) {
    described.problem = "the label has no instance type";
    co_return described;
  }
  const std::optional<MachineType> type = co_await context_.view.machine_type(wanted.instance_type);
  if (!type) {
    described.problem = fmt::format("zone {} has no machine type {}", config_->account().zone,
                                    wanted.instance_type);
    co_return described;
  }
  described.need = co_await context_.view.taken_by(wanted.instance_type);
  if (!wanted.image) {
    described.problem = driver::images_unavailable("the label has no image");
    co_return described;
  }
  const std::optional<std::string> image = co_await context_.view.image(*wanted.image);
  if (image) co_return described;
  const ImageReference& named = *wanted.image;
  described.problem = driver::images_unavailable(
      named.id.empty() ? fmt::format("there is no image of the family `{}` in project `{}`",
                                     named.family, named.project)
                       : fmt::format("there is no image `{}`", named.id));
  co_return described;
}

// Zone and disk types that do not exist.
Task<std::vector<std::string>> GceAdapter::missing() {
  const Account& account = config_->account();
  const std::string zone = fmt::format("projects/{}/zones/{}", account.project, account.zone);
  std::vector<std::string> lacks;
  if (!co_await compute_.exists(zone)) {
    lacks.push_back("there is no zone `" + account.zone + "`");
    co_return lacks;
  }
  std::set<std::string> disk_types;
  for (const auto& [pool_name, pool] : config_->pools()) {
    for (const std::string& label : pool.labels) {
      disk_types.insert(config_->label(pool_name, label).volume_type);
    }
  }
  for (const std::string& type : disk_types) {
    const std::string path = fmt::format("{}/diskTypes/{}", zone, type);
    if (!co_await compute_.exists(path)) lacks.push_back("there is no disk type `" + type + "`");
  }
  co_return lacks;
}

Task<std::optional<std::string>> GceAdapter::diagnose(model::Json external_id, bool wants_console) {
  if (!wants_console) co_return std::nullopt;
  co_return co_await compute_.console_output(external_id.string_value());
}

}  // namespace nodepool::drivers::gce
