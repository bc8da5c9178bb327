#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "config/environment.h"
#include "driver/resources.h"
#include "driver/statemachine/state_machine_config.h"
#include "drivers/kubernetes/config/kube_schema.h"
#include "drivers/kubernetes/kubeconfig/cluster.h"
#include "json/json.h"

namespace nodepool::drivers::kubernetes {

// The requests or limits of a container.
struct Amounts {
  std::optional<std::int64_t> cpu;      // cores
  std::optional<std::int64_t> memory;   // MiB
  std::optional<std::int64_t> storage;  // MB
};

// The settings of a label besides driver::MachineLabel.
struct KubeLabel {
  bool has_pod = false;
  std::string image;
  std::string image_pull;
  Amounts request;
  Amounts limit;
  std::optional<double> gpu;
  std::string gpu_resource;
  // In Kubernetes's format; null: not set.
  json::Json env;
  json::Json node_selector;
  json::Json volumes;
  json::Json volume_mounts;
  json::Json image_pull_secrets;
  json::Json annotations;
  json::Json spec;  // of the pod; replaces all of these
  std::string scheduler_name;
  std::optional<bool> privileged;
  std::map<std::string, std::string> labels;
  std::map<std::string, std::string> dynamic_labels;  // with {request.…}
  driver::Resources need;                             // of a node
};

// The configuration of a provider of one of the drivers in Kind.
class KubeConfig final : public driver::StateMachineConfig {
 public:
  // `environment`: for finding the kubeconfig, see find_cluster(). Throws config::ConfigError.
  KubeConfig(Kind kind, const config::ProviderSection& section, const config::Config& config,
             const config::Environment& environment);

  Kind kind() const { return kind_; }
  const Cluster& cluster() const { return cluster_; }
  const std::optional<std::string>& context() const { return context_; }
  bool is_limited_to_capacity() const { return is_limited_to_capacity_; }

  // Throws std::out_of_range for an unknown pool or label.
  const KubeLabel& label(std::string_view pool, std::string_view label) const {
    return driver::of_label(labels_, pool, label);
  }

  // Also compares the context in the kubeconfig.
  bool same_as(const driver::ProviderConfig& other) const override;

 private:
  void load_pool(const config::Section& section, const config::ProviderSection& provider,
                 const config::Section& provider_section, const config::Config& config);
  void load_limits(const config::Section& pool_section, const config::Section& provider,
                   driver::PoolConfig& pool) const;
  KubeLabel load_label(const config::Section& section, const config::Section& pool) const;
  driver::MachineLabel machine_of(const config::Section& section, const KubeLabel& label) const;

  Kind kind_;
  Cluster cluster_;
  std::optional<std::string> context_;
  bool is_limited_to_capacity_ = false;
  driver::ByLabel<KubeLabel> labels_;
};

}  // namespace nodepool::drivers::kubernetes
