#pragma once

#include "config/schema.h"

namespace nodepool::drivers::kubernetes {

// The drivers for Kubernetes and OpenShift. Their sections differ in few keys.
enum class Kind {
  kubernetes,     // a namespace for each node, with or without a pod
  openshift,      // a project for each node, with or without a pod
  openshiftpods,  // a pod for each node, in an existing project
};

// The schema of the driver's provider section.
const config::Schema& kube_schema(Kind kind);

}  // namespace nodepool::drivers::kubernetes
