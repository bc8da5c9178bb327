#include "drivers/example/example_cloud.h"

#include <fmt/format.h>

#include <set>

namespace nodepool::sample_cloud {

namespace {

const std::map<std::string, InstanceType>& catalogue() {
  static const std::map<std::string, InstanceType> kTypes{
      {"small", {1, 2048}}, {"medium", {2, 4096}}, {"large", {8, 16384}}};
  return kTypes;
}

}  // namespace

InstanceType Project::instance_type(const std::string& name) {
  const auto found = catalogue().find(name);
  if (found == catalogue().end()) {
    throw Refusal(Refusal::Code::no_such_type,
                  "no instance type " + name + " (available: small, medium, large)");
  }
  return found->second;
}

bool Project::has_image(const std::string& name) {
  static const std::set<std::string> kImages{"debian-12", "ubuntu-24.04", "broken"};
  return kImages.contains(name);
}

void Project::require_quota_for(const InstanceType& type) const {
  std::int64_t cores = type.cores;
  std::int64_t memory = type.memory;
  for (const auto& [id, machine] : machines_) {
    const InstanceType& taken = instance_type(machine.spec.type);
    cores += taken.cores;
    memory += taken.memory;
  }
  const auto count = static_cast<std::int64_t>(machines_.size()) + 1;
  if (count > quota_.machines || cores > quota_.cores || memory > quota_.memory) {
    throw Refusal(
        Refusal::Code::quota_exceeded,
        fmt::format("quota exceeded: {} machines, {} cores, {} MiB", count, cores, memory));
  }
}

std::string Project::create_machine(const MachineSpec& spec) {
  const std::lock_guard lock(mutex_);
  if (!has_image(spec.image)) {
    throw Refusal(Refusal::Code::no_such_image, "no image " + spec.image);
  }
  require_quota_for(instance_type(spec.type));
  const std::string id = fmt::format("m-{:06}", ++last_id_);
  machines_[id] = {.id = id, .spec = spec, .public_address = {}, .private_address = {}};
  return id;
}

void Project::delete_machine(const std::string& id) {
  const std::lock_guard lock(mutex_);
  if (machines_.erase(id) == 0) {
    throw Refusal(Refusal::Code::no_such_machine, "no machine " + id);
  }
}

std::vector<Machine> Project::list_machines() {
  const std::lock_guard lock(mutex_);
  std::vector<Machine> listing;
  for (auto& [id, machine] : machines_) {
    listing.push_back(machine);
    if (machine.status != Machine::Status::starting) continue;
    const bool comes_up = machine.spec.image != "broken";
    machine.status = comes_up ? Machine::Status::running : Machine::Status::broken;
    if (comes_up) machine.public_address = id + ".example.org";
    if (comes_up) machine.private_address = id + ".example.internal";
  }
  return listing;
}

std::shared_ptr<Project> Cloud::project(const std::string& region, const std::string& name) {
  std::shared_ptr<Project>& project = projects_[{region, name}];
  if (!project) project = std::make_shared<Project>(quota_);
  return project;
}

}  // namespace nodepool::sample_cloud
