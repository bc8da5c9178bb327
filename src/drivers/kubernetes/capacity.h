#pragma once

#include "driver/resources.h"
#include "driver/statemachine/instance.h"
#include "drivers/kubernetes/api/kube_api.h"
#include "drivers/kubernetes/spaces.h"

namespace nodepool::drivers::kubernetes {

// The total capacity of the cluster's schedulable nodes. Throws CloudError.
async::Task<driver::Limits> cluster_capacity(KubeApi& api);

// Its usage: each of `spaces` with its pods, and every other pod of the cluster. Throws CloudError.
async::Task<std::vector<driver::Instance>> cluster_usage(KubeApi& api, std::vector<Space> spaces);

}  // namespace nodepool::drivers::kubernetes
