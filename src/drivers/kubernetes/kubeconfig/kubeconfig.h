#pragma once

#include <optional>
#include <set>
#include <stdexcept>
#include <string>

#include "config/environment.h"
#include "drivers/kubernetes/kubeconfig/cluster.h"

namespace nodepool::drivers::kubernetes {

// A cluster that is not configured, or not so that it could be used. No secrets in its text.
class KubeconfigError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// Where Kubernetes puts what a pod needs to reach its own cluster.
inline constexpr const char* kServiceAccountDirectory =
    "/var/run/secrets/kubernetes.io/serviceaccount";

// The cluster of the context (nothing: the current one) in the files that KUBECONFIG names, or in
// ~/.kube/config; of several files the first that has a name, or says which context is the current
// one, counts. Where there is no such file, and no context is asked for, it is the cluster that
// this process runs in. Reads the files anew each time. Throws config::ConfigError for a file that
// cannot be parsed, KubeconfigError.
Cluster find_cluster(const std::optional<std::string>& context,
                     const config::Environment& environment,
                     const std::string& service_account = kServiceAccountDirectory);

// All files that find_cluster() may read, whether or not they exist, but for those that they name.
std::set<std::string> kubeconfig_files(const config::Environment& environment);

// What `ca` holds. Throws config::ConfigError if its file cannot be read.
std::string content_of(const TextOrFile& ca);

}  // namespace nodepool::drivers::kubernetes
