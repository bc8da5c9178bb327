#pragma once

#include <optional>
#include <set>
#include <stdexcept>
#include <string>

#include "config/environment.h"
#include "drivers/kubernetes/kubeconfig/cluster.h"

namespace nodepool::drivers::kubernetes {

// A cluster's configuration is missing or invalid. The text contains no secrets.
class KubeconfigError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// The directory with a pod's credentials for its own cluster.
inline constexpr const char* kServiceAccountDirectory =
    "/var/run/secrets/kubernetes.io/serviceaccount";

// Reads the cluster of a context (nothing: the current one) from the files in KUBECONFIG, or from
// ~/.kube/config. Of several files, the first that has an entry counts. If no file exists,
// returns the cluster that this process runs in, whatever the context, unless KUBECONFIG names
// files. Reads the files each time. Throws KubeconfigError, and config::ConfigError for a file that
// cannot be parsed.
Cluster find_cluster(const std::optional<std::string>& context,
                     const config::Environment& environment,
                     const std::string& service_account = kServiceAccountDirectory);

// All files that find_cluster() may read, whether or not they exist, except files that they name.
std::set<std::string> kubeconfig_files(const config::Environment& environment);

// The text of `ca`. Throws config::ConfigError if its file cannot be read.
std::string content_of(const TextOrFile& ca);

}  // namespace nodepool::drivers::kubernetes
