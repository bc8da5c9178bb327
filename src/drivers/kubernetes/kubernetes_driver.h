#pragma once

#include <memory>
#include <utility>

#include "cloud/endpoints.h"
#include "config/environment.h"
#include "driver/statemachine/state_machine_driver.h"
#include "drivers/kubernetes/cluster_endpoint.h"
#include "drivers/kubernetes/config/kube_config.h"
#include "drivers/kubernetes/spaces.h"

namespace nodepool::drivers::kubernetes {

// Base of the drivers for Kubernetes and OpenShift: their configuration.
class KubeDriver : public driver::StateMachineDriver {
 public:
  // `environment`: for finding the kubeconfig, see find_cluster().
  explicit KubeDriver(Kind kind, config::Environment environment = config::process_environment())
      : kind_(kind), environment_(std::move(environment)) {}

  const config::Schema& schema() const override { return kube_schema(kind_); }
  std::shared_ptr<const driver::ProviderConfig> configure(
      const config::ProviderSection& section, const config::Config& config) const override;
  std::set<std::string> files(const config::ProviderSection& section) const override;

 protected:
  // The adapter for a namespace or project for each node.
  std::unique_ptr<driver::Adapter> space_adapter(
      std::shared_ptr<const driver::ProviderConfig> config, const driver::ProviderContext& context,
      const MakeSpaces& make_spaces) const;

 private:
  using Clusters = cloud::Endpoints<Cluster, ClusterEndpoint>;

  Kind kind_;
  config::Environment environment_;
  std::shared_ptr<Clusters> clusters_ = std::make_shared<Clusters>();
};

// `driver: kubernetes`: namespaces and pods of a cluster. See docs/drivers/kubernetes.md.
class KubernetesDriver final : public KubeDriver {
 public:
  explicit KubernetesDriver(config::Environment environment = config::process_environment())
      : KubeDriver(Kind::kubernetes, std::move(environment)) {}

  std::string_view name() const override { return "kubernetes"; }

 protected:
  std::unique_ptr<driver::Adapter> adapter(std::shared_ptr<const driver::ProviderConfig> config,
                                           driver::ProviderContext context) const override;
};

}  // namespace nodepool::drivers::kubernetes
