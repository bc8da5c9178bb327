#include "drivers/openshift/openshift_driver.h"

#include "drivers/openshift/pod_adapter.h"
#include "drivers/openshift/projects.h"
#include "http/attempt_metrics.h"

namespace nodepool::drivers::openshift {

using kubernetes::KubeConfig;

std::unique_ptr<driver::Adapter> OpenShiftDriver::adapter(
    std::shared_ptr<const driver::ProviderConfig> config, driver::ProviderContext context) const {
  const kubernetes::MakeSpaces make_projects = [](KubeApi& api) {
    return std::make_unique<Projects>(api);
  };
  return space_adapter(std::move(config), context, make_projects);
}

std::unique_ptr<driver::Adapter> OpenShiftPodsDriver::adapter(
    std::shared_ptr<const driver::ProviderConfig> config, driver::ProviderContext context) const {
  auto kube = std::dynamic_pointer_cast<const KubeConfig>(std::move(config));
  const std::string name = kube->name();
  return std::make_unique<PodAdapter>(context.runtime, std::move(kube), context.threads,
                                      context.log.child("driver.openshiftpods." + name),
                                      http::attempt_metrics(context.metrics, name));
}

}  // namespace nodepool::drivers::openshift
