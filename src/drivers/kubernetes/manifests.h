#pragma once

#include <string>

#include "driver/images.h"
#include "drivers/kubernetes/api/kube_api.h"
#include "drivers/kubernetes/config/kube_config.h"

namespace nodepool::drivers::kubernetes {

// The name of a node's service account in its namespace, and of the secret with its token.
inline constexpr const char* kAccount = "zuul-worker";

// Manifests of the objects in a node's namespace.
Json service_account();
Json token_secret();
Json namespace_role();  // for nodes that are a namespace
Json pod_role();        // for nodes that are a pod
// `kind` and `role`: "Role" or "ClusterRole", and its name.
Json role_binding(const std::string& name, const std::string& space, const std::string& kind,
                  const std::string& role);

// The pod of a label. `name` is also the name of its container.
Json pod(const KubeLabel& label, const std::string& name, const driver::Metadata& attached);

}  // namespace nodepool::drivers::kubernetes
