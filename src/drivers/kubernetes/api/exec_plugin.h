#pragma once

#include <optional>
#include <string>

#include "async/runtime.h"
#include "drivers/kubernetes/kubeconfig/cluster.h"

namespace nodepool::drivers::kubernetes {

// What an exec plug-in has told.
struct PluginToken {
  std::string token;
  std::optional<double>
      expires;  // seconds since the epoch; nothing: when it is not accepted any more
};

// Runs the cluster's plug-in. What it writes to its standard error goes to that of this process.
// Throws CloudError(auth): it cannot be run, fails, takes more than a minute, or tells no token.
async::Task<PluginToken> token_of_plugin(async::Runtime runtime, const Cluster& cluster);

// Reads an ExecCredential. Throws CloudError(auth).
PluginToken parse_exec_credential(const std::string& text);

}  // namespace nodepool::drivers::kubernetes
