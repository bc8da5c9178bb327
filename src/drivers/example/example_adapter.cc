#include "drivers/example/example_adapter.h"

namespace nodepool::drivers::example {

namespace {

using driver::CloudError;
using driver::Machine;
using driver::Resources;

// The kind decides how the framework handles the error; the text is for people. A client that uses
// the network would also have `transient` errors, and errors with `unknown_outcome`.
CloudError translated(const sample_cloud::Refusal& refusal) {
  using Code = sample_cloud::Refusal::Code;
  switch (refusal.code()) {
    case Code::quota_exceeded:
      return {CloudError::Kind::quota, refusal.what()};
    case Code::no_such_machine:
      return {CloudError::Kind::not_found, refusal.what()};
    case Code::no_such_type:
    case Code::no_such_image:
      return {CloudError::Kind::permanent, refusal.what()};
  }
  return {CloudError::Kind::failed, refusal.what()};
}

Resources instance_resources(const std::string& instance_type) {
  const sample_cloud::InstanceType type = sample_cloud::Project::instance_type(instance_type);
  return Resources({{"instances", 1},
                    {"cores", static_cast<double>(type.cores)},
                    {"ram", static_cast<double>(type.memory)}});
}

}  // namespace

std::string ExampleAdapter::create_instance(const driver::CreateSpec& spec) {
  const ExampleLabel& label = config_->label(spec.pool, spec.label);
  sample_cloud::MachineSpec machine;
  machine.name = spec.hostname;
  machine.image = label.image.id;
  machine.type = label.instance_type;
  machine.ssh_key = label.image.ssh_key;
  // Without the owner tags, the machine could not be found after a crash, nor deleted as a leak.
  machine.tags.insert(spec.metadata.begin(), spec.metadata.end());
  try {
    return project_->create_machine(machine);
  } catch (const sample_cloud::Refusal& refusal) {
    throw translated(refusal);
  }
}

void ExampleAdapter::delete_instance(const std::string& id) {
  try {
    project_->delete_machine(id);
  } catch (const sample_cloud::Refusal& refusal) {
    throw translated(refusal);
  }
}

std::vector<Machine> ExampleAdapter::list_instances() {
  std::vector<Machine> instances;
  for (const sample_cloud::Machine& machine : project_->list_machines()) {
    instances.push_back(describe(machine));
  }
  return instances;
}

Machine ExampleAdapter::describe(const sample_cloud::Machine& machine) const {
  Machine instance;
  instance.external_id = model::json_string(machine.id);
  instance.metadata.insert(machine.spec.tags.begin(), machine.spec.tags.end());
  instance.resources = instance_resources(machine.spec.type);
  instance.cloud = "example";
  instance.region = config_->region();
  switch (machine.status) {
    case sample_cloud::Machine::Status::starting:
      instance.state = Machine::State::building;
      break;
    case sample_cloud::Machine::Status::running:
      instance.state = Machine::State::running;
      instance.interface_ip = machine.public_address;
      instance.public_ipv4 = machine.public_address;
      instance.private_ipv4 = machine.private_address;
      break;
    case sample_cloud::Machine::Status::broken:
      instance.state = Machine::State::failed;
      instance.explanation = "it does not start";
      break;
  }
  return instance;
}

driver::Limits ExampleAdapter::quota_limits() {
  const sample_cloud::Quota quota = project_->quota();
  return {{"instances", static_cast<double>(quota.machines)},
          {"cores", static_cast<double>(quota.cores)},
          {"ram", static_cast<double>(quota.memory)}};
}

Resources ExampleAdapter::quota_for_label(const std::string& pool, const std::string& label) {
  try {
    return instance_resources(config_->label(pool, label).instance_type);
  } catch (const sample_cloud::Refusal& refusal) {
    throw translated(refusal);
  }
}

std::optional<std::string> ExampleAdapter::label_problem(const std::string& pool,
                                                         const std::string& label) {
  const std::string& image = config_->label(pool, label).image.id;
  if (image.empty()) return "the label has no cloud-image";
  if (!sample_cloud::Project::has_image(image)) return "no image " + image;
  return std::nullopt;
}

}  // namespace nodepool::drivers::example
