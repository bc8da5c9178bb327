#include "drivers/kubernetes/capacity.h"

#include <map>

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

Task<std::vector<driver::Instance>> cluster_usage(KubeApi& api, std::vector<Space> spaces) {
  std::map<std::string, driver::Instance, std::less<>> of_nodes;
  for (const Space& space : spaces) {
    driver::Instance& instance = of_nodes[space.name];
    instance.external_id = model::json_string(space.name);
    instance.metadata = space.attached;
    instance.resources = driver::Resources({{"instances", 1}});
  }
  std::vector<driver::Instance> all;
  const std::vector<Pod> pods = co_await api.list("list pods", "/api/v1/pods", "", read_pod);
  for (const Pod& pod : pods) {
    if (pod.phase == "Succeeded" || pod.phase == "Failed") continue;
    const auto space = of_nodes.find(pod.space);
    if (space != of_nodes.end()) {
      space->second.resources += pod.request;
      space->second.resources -= driver::Resources({{"instances", 1}});
      continue;
    }
    driver::Instance instance;
    instance.external_id = model::json_string(pod.space + "/" + pod.name);
    instance.metadata = pod.attached;  // also of nodes whose namespace is younger than `spaces`
    instance.resources = pod.request;
    all.push_back(std::move(instance));
  }
  for (auto& [name, instance] : of_nodes) all.push_back(std::move(instance));
  co_return all;
}

}  // namespace nodepool::drivers::kubernetes
