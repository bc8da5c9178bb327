#pragma once

#include <vector>

#include "driver/resources.h"
#include "driver/statemachine/instance.h"
#include "drivers/kubernetes/api/kube_api.h"
#include "drivers/kubernetes/pods.h"

namespace nodepool::drivers::kubernetes {

// The total capacity of the cluster's schedulable nodes. Throws CloudError.
async::Task<driver::Limits> cluster_capacity(KubeApi& api);

// Its usage: adds to each of `machines`, whose external ids are namespaces, what its pods request,
// and a machine for every other pod of the cluster. A pod that has ended takes nothing.
void add_usage(std::vector<driver::Machine>& machines, const std::vector<Pod>& pods);

}  // namespace nodepool::drivers::kubernetes
