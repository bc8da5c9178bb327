#pragma once

#include <optional>
#include <string>

#include "async/runtime.h"
#include "drivers/kubernetes/kubeconfig/cluster.h"

namespace nodepool::drivers::kubernetes {

// The token from an exec plug-in.
struct PluginToken {
  std::string token;
  std::optional<double> expires;  // seconds since the epoch; nothing: valid until it is rejected
};

// Runs the cluster's exec plug-in. Its standard error goes to this process's. Throws
// CloudError(auth) if it cannot be run, fails, takes more than a minute, or returns no token.
async::Task<PluginToken> token_of_plugin(async::Runtime runtime, const Cluster& cluster);

// Reads an ExecCredential. Throws CloudError(auth).
PluginToken parse_exec_credential(const std::string& text);

}  // namespace nodepool::drivers::kubernetes
