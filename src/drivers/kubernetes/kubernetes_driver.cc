#include "drivers/kubernetes/kubernetes_driver.h"

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

std::unique_ptr<driver::Adapter> KubernetesDriver::adapter(
    std::shared_ptr<const driver::ProviderConfig> config, driver::ProviderContext context) const {
  auto kube = std::dynamic_pointer_cast<const KubeConfig>(std::move(config));
  const std::string name = kube->name();
  const SpaceAdapter::MakeSpaces make_spaces = [](KubeApi& api) {
    return std::make_unique<Namespaces>(api);
  };
  return std::make_unique<SpaceAdapter>(context.runtime, std::move(kube), context.threads,
                                        context.log.child("driver.kubernetes." + name), make_spaces,
                                        http::attempt_metrics(context.metrics, name));
}

}  // namespace nodepool::drivers::kubernetes
