#include "drivers/kubernetes/kubernetes_driver.h"

#include <fmt/format.h>

#include "drivers/kubernetes/kubeconfig/kubeconfig.h"
#include "drivers/kubernetes/space_adapter.h"
#include "http/attempt_metrics.h"

namespace nodepool::drivers::kubernetes {

std::shared_ptr<const driver::ProviderConfig> KubeDriver::configure(
    const config::ProviderSection& section, const config::Config& config) const {
  return std::make_shared<KubeConfig>(kind_, section, config, environment_);
}

std::set<std::string> KubeDriver::files(const config::ProviderSection& /*section*/) const {
  return kubeconfig_files(environment_);
}

std::unique_ptr<driver::Adapter> KubeDriver::space_adapter(
    std::shared_ptr<const driver::ProviderConfig> config, const driver::ProviderContext& context,
    const MakeSpaces& make_spaces) const {
  auto kube = std::dynamic_pointer_cast<const KubeConfig>(std::move(config));
  const telemetry::Logger log = context.log.child(fmt::format("driver.{}", name()));
  const std::string provider = kube->name();
  auto endpoint = clusters_->find(context.runtime, kube->cluster(), [&] {
    return std::make_shared<ClusterEndpoint>(context.runtime, kube->cluster(), context.threads, log,
                                             make_spaces);
  });
  return std::make_unique<SpaceAdapter>(context.runtime, std::move(kube), std::move(endpoint),
                                        log.child(provider), make_spaces,
                                        http::attempt_metrics(context.metrics, provider));
}

std::unique_ptr<driver::Adapter> KubernetesDriver::adapter(
    std::shared_ptr<const driver::ProviderConfig> config, driver::ProviderContext context) const {
  const MakeSpaces make_spaces = [&](KubeApi& api) {
    return std::make_unique<Namespaces>(context.runtime, context.log.child("driver.kubernetes"),
                                        api);
  };
  return space_adapter(std::move(config), context, make_spaces);
}

}  // namespace nodepool::drivers::kubernetes
