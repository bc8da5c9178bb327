#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "drivers/kubernetes/spaces.h"

namespace nodepool::drivers::openshift {

using kubernetes::Element;
using kubernetes::Json;
using kubernetes::KubeApi;

// The projects of OpenShift. Users who may not make namespaces can request projects, but cannot set
// labels: the tags are in the project's description.
class Projects final : public kubernetes::Spaces {
 public:
  // `api` outlives it.
  explicit Projects(KubeApi& api) : api_(api) {}

  std::string_view word() const override { return "project"; }
  async::Task<bool> make(std::string name, driver::Metadata attached) override;
  async::Task<std::optional<kubernetes::Space>> find(std::string name) override;
  async::Task<kubernetes::SpaceList> list() override;
  async::Task<bool> remove(std::string name) override;
  async::Task<> grant(std::string name, bool has_pod) override;
  async::Task<kubernetes::PodList> pods() override;
  async::Task<std::optional<kubernetes::Pod>> find_pod(std::string space,
                                                       std::string name) override;
  void follow(kubernetes::Watcher& watcher, std::function<void()> on_space,
              std::function<void()> on_pod) override;
  bool reports_pods() const override { return false; }
  bool reports_all_spaces() const override { return false; }

 private:
  KubeApi& api_;
};

}  // namespace nodepool::drivers::openshift
