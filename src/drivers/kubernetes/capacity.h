#pragma once

#include <functional>
#include <set>
#include <string>
#include <vector>

#include "driver/resources.h"
#include "driver/statemachine/instance.h"
#include "drivers/kubernetes/api/kube_api.h"
#include "drivers/kubernetes/pods.h"

namespace nodepool::drivers::kubernetes {

// What the cluster's nodes that take pods have in total.
struct ClusterCapacity {
  driver::Limits total;
  std::set<std::string, std::less<>> hosts;  // these nodes
};

// The capacity of the cluster's nodes that are ready and not cordoned. One that does not report
// whether it is ready counts. Throws CloudError.
async::Task<ClusterCapacity> cluster_capacity(KubeApi& api);

// Its usage: adds to each of `machines`, whose external ids are namespaces, what its pods request,
// and a machine for every other pod of the cluster. A pod that has ended, or runs on none of
// `hosts`, takes nothing; one that waits for a host takes its request. A namespace is one instance,
// wherever its pods run.
void add_usage(std::vector<driver::Machine>& machines, const std::vector<Pod>& pods,
               const std::set<std::string, std::less<>>& hosts);

}  // namespace nodepool::drivers::kubernetes
