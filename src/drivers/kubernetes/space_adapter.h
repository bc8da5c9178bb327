#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "driver/statemachine/adapter.h"
#include "drivers/kubernetes/cluster_endpoint.h"
#include "drivers/kubernetes/config/kube_config.h"
#include "drivers/kubernetes/space_launch.h"
#include "drivers/kubernetes/spaces.h"

namespace nodepool::drivers::kubernetes {

// Resource::type of a namespace. Source: the Python Nodepool's metric of leaks.
inline constexpr std::string_view kNodeResource = "node";

// The adapter for clusters with a namespace for each node. docs/drivers/kubernetes.md lists its
// calls.
class SpaceAdapter final : public driver::Adapter {
 public:
  // `endpoint` is the endpoint of the configured cluster. `make_spaces`: for the other calls.
  // `on_attempt` is called for every attempt of these.
  SpaceAdapter(const async::Runtime& runtime, std::shared_ptr<const KubeConfig> config,
               std::shared_ptr<ClusterEndpoint> endpoint, telemetry::Logger log,
               const MakeSpaces& make_spaces, const http::Client::Observer& on_attempt = {});

  async::Task<> start(std::function<void()> changed) override;
  async::Task<> stop() override;

  async::Task<driver::Instance> create(driver::CreateSpec spec,
                                       driver::LaunchSteps& steps) override;
  async::Task<> remove(model::Json external_id, driver::LaunchSteps& steps) override;
  async::Task<driver::MachineList> list() override;
  async::Task<std::vector<driver::Machine>> find_by_name(driver::CreateSpec spec) override;
  async::Task<> remove_resource(driver::Resource resource) override;
  async::Task<driver::CloudDescription> describe(
      driver::CloudDescription::Purpose purpose) override;
  // Short, because names are unique: a delayed call cannot create a duplicate.
  driver::CloudTraits traits() override { return {.consistency_delay = std::chrono::seconds(2)}; }

 private:
  async::Task<std::shared_ptr<const PodList>> pods();
  bool needs_pod(const Space& space) const;
  async::Task<> remove_space(std::string name, std::function<void()> accepted);
  async::Task<bool> is_gone(std::string name);

  async::Runtime runtime_;
  std::shared_ptr<const KubeConfig> config_;
  std::shared_ptr<ClusterEndpoint> endpoint_;
  ClusterEndpoint::Membership membership_;
  telemetry::Logger log_;
  KubeApi api_;
  std::unique_ptr<Spaces> spaces_;
  // The nodes that the last description of the cluster's capacity includes: only pods there count
  // as usage. Nothing: it has not been described, or does not limit the provider.
  std::optional<std::set<std::string, std::less<>>> hosts_;
};

// The descriptions of all labels, which depend on the configuration only.
std::map<driver::LabelKey, driver::LabelDescription> describe_labels(const KubeConfig& config);

}  // namespace nodepool::drivers::kubernetes
