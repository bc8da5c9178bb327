#include "drivers/kubernetes/capacity.h"

#include <algorithm>
#include <map>

#include "driver/ownership.h"
#include "model/node.h"

namespace nodepool::drivers::kubernetes {

using async::Task;

namespace {

struct ClusterNode {
  std::string name;
  bool takes_pods = true;
  std::map<std::string, double, std::less<>> capacity;
};

// The scheduler gives no pods to a node that is not ready, or whose condition is unknown.
bool is_ready(const Element& status) {
  return std::ranges::all_of(status.list("conditions"), [](const Element& condition) {
    return condition.text_or("type") != "Ready" || condition.text_or("status") == "True";
  });
}

ClusterNode read_cluster_node(const Element& object) {
  ClusterNode node{.name = object.object("metadata").text("name"), .capacity = {}};
  if (const auto spec = object.optional_object("spec")) {
    node.takes_pods = !spec->boolean_or("unschedulable", false);
  }
  const auto status = object.optional_object("status");
  if (!status) return node;
  node.takes_pods = node.takes_pods && is_ready(*status);
  if (const auto allocatable = status->optional_object("allocatable")) {
    node.capacity = amounts_of(*allocatable);
  }
  return node;
}

}  // namespace

Task<ClusterCapacity> cluster_capacity(KubeApi& api) {
  ClusterCapacity capacity;
  const auto nodes = co_await api.list("list nodes", "/api/v1/nodes", "", read_cluster_node);
  for (const ClusterNode& node : nodes) {
    if (!node.takes_pods) continue;
    capacity.hosts.insert(node.name);
    for (const auto& [name, amount] : node.capacity) capacity.total[name] += amount;
  }
  co_return capacity;
}

void add_usage(std::vector<driver::Machine>& machines, const std::vector<Pod>& pods,
               const std::set<std::string, std::less<>>& hosts) {
  std::map<std::string, std::size_t, std::less<>> spaces;
  for (std::size_t i = 0; i < machines.size(); ++i) {
    spaces.emplace(machines[i].external_id.string_value(), i);
    machines[i].resources = driver::Resources({{"instances", 1}});
  }
  for (const Pod& pod : pods) {
    if (pod.phase == "Succeeded" || pod.phase == "Failed") continue;
    if (!pod.host.empty() && !hosts.contains(pod.host)) continue;
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
