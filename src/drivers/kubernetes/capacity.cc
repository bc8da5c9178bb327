#include "drivers/kubernetes/capacity.h"

#include <map>

#include "driver/ownership.h"
#include "model/node.h"

namespace nodepool::drivers::kubernetes {

using async::Task;

namespace {

std::map<std::string, double, std::less<>> capacity_of(const Element& node) {
  const auto spec = node.optional_object("spec");
  const bool takes_pods = !spec || !spec->boolean_or("unschedulable", false);
  const auto status = node.optional_object("status");
  const auto allocatable = status ? status->optional_object("allocatable") : std::nullopt;
  if (!allocatable || !takes_pods) return {};
  return amounts_of(*allocatable);
}

}  // namespace

Task<driver::Limits> cluster_capacity(KubeApi& api) {
  driver::Limits limits;
  const auto nodes = co_await api.list("list nodes", "/api/v1/nodes", "", capacity_of);
  for (const auto& node : nodes) {
    for (const auto& [name, amount] : node) limits[name] += amount;
  }
  co_return limits;
}

void add_usage(std::vector<driver::Machine>& machines, const std::vector<Pod>& pods) {
  std::map<std::string, std::size_t, std::less<>> spaces;
  for (std::size_t i = 0; i < machines.size(); ++i) {
    spaces.emplace(machines[i].external_id.string_value(), i);
    machines[i].resources = driver::Resources({{"instances", 1}});
  }
  for (const Pod& pod : pods) {
    if (pod.phase == "Succeeded" || pod.phase == "Failed") continue;
    const auto space = spaces.find(pod.space);
    if (space != spaces.end()) {
      driver::Resources& resources = machines[space->second].resources;
      resources += pod.request;
      resources -= driver::Resources({{"instances", 1}});
      continue;
    }
    // The namespace of a node is younger than its listing: it counts in the next one.
    if (!driver::value_of(pod.attached, driver::kNodeIdKey).empty()) continue;
    driver::Machine& machine = machines.emplace_back();
    machine.external_id = model::json_string(pod.path());
    machine.resources = pod.request;
  }
}

}  // namespace nodepool::drivers::kubernetes
