#pragma once

#include <utility>

#include "drivers/kubernetes/kubernetes_driver.h"

namespace nodepool::drivers::openshift {

// `driver: openshift`: projects of a cluster. See docs/drivers/openshift.md.
class OpenShiftDriver final : public kubernetes::KubeDriver {
 public:
  explicit OpenShiftDriver(config::Environment environment = config::process_environment())
      : KubeDriver(kubernetes::Kind::openshift, std::move(environment)) {}

  std::string_view name() const override { return "openshift"; }

 protected:
  std::unique_ptr<driver::Adapter> adapter(std::shared_ptr<const driver::ProviderConfig> config,
                                           driver::ProviderContext context) const override;
};

// `driver: openshiftpods`: pods in projects that are there. See docs/drivers/openshiftpods.md.
class OpenShiftPodsDriver final : public kubernetes::KubeDriver {
 public:
  explicit OpenShiftPodsDriver(config::Environment environment = config::process_environment())
      : KubeDriver(kubernetes::Kind::openshiftpods, std::move(environment)) {}

  std::string_view name() const override { return "openshiftpods"; }

 protected:
  std::unique_ptr<driver::Adapter> adapter(std::shared_ptr<const driver::ProviderConfig> config,
                                           driver::ProviderContext context) const override;
};

}  // namespace nodepool::drivers::openshift
