#pragma once

#include "config/schema.h"

namespace nodepool::drivers::kubernetes {

// The drivers that make nodes in such clusters. Their sections differ in few keys.
enum class Kind {
  kubernetes,     // a namespace for each node, alone or with a pod
  openshift,      // the same, as a project
  openshiftpods,  // a pod for each node, in a project that is there
};

// The provider section of the driver.
const config::Schema& kube_schema(Kind kind);

}  // namespace nodepool::drivers::kubernetes
