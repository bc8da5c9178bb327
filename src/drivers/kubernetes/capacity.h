#pragma once

#include "driver/resources.h"
#include "driver/statemachine/instance.h"
#include "drivers/kubernetes/api/kube_api.h"
#include "drivers/kubernetes/spaces.h"

namespace nodepool::drivers::kubernetes {

// What the cluster's nodes that take pods have together. Throws CloudError, as the other does.
async::Task<driver::Limits> cluster_capacity(KubeApi& api);

// Who takes of it: each of `spaces`, with the pods in it, and every other pod of the cluster.
async::Task<std::vector<driver::Instance>> cluster_usage(KubeApi& api, std::vector<Space> spaces);

}  // namespace nodepool::drivers::kubernetes
