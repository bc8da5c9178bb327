#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "async/thread_pool.h"
#include "driver/statemachine/adapter.h"
#include "driver/statemachine/shared_poller.h"
#include "drivers/kubernetes/config/kube_config.h"
#include "drivers/kubernetes/list_permission.h"
#include "drivers/kubernetes/pods.h"
#include "drivers/kubernetes/space_adapter.h"
#include "drivers/kubernetes/watcher.h"

namespace nodepool::drivers::openshift {

// The adapter for nodes that are pods in existing namespaces. A pool has the name of its namespace.
// docs/drivers/openshiftpods.md lists its calls.
class PodAdapter final : public driver::Adapter {
 public:
  // `threads` outlives it. `on_attempt` is called for every attempt of a call.
  PodAdapter(const async::Runtime& runtime, std::shared_ptr<const kubernetes::KubeConfig> config,
             async::ThreadPool& threads, telemetry::Logger log,
             http::Client::Observer on_attempt = {});

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
  driver::CloudTraits traits() override { return {.consistency_delay = std::chrono::seconds(2)}; }

 private:
  // The namespace and name of a node's pod.
  struct PodName {
    std::string space;
    std::string name;
  };

  async::Task<std::string> make_pod(driver::CreateSpec spec, driver::LaunchSteps& steps);
  async::Task<std::optional<std::string>> find_made_pod(driver::CreateSpec spec,
                                                        driver::LaunchSteps& steps);
  async::Task<std::optional<kubernetes::Pod>> find_pod(PodName pod_name);
  async::Task<bool> is_ours(PodName pod_name, driver::Metadata tags);
  async::Task<driver::Instance> instance_of(driver::CreateSpec spec, kubernetes::Pod pod);
  async::Task<> remove_pod(std::string id, std::function<void()> accepted);
  async::Task<std::optional<PodName>> find_name(std::string id);
  async::Task<bool> is_gone(PodName pod_name);
  async::Task<kubernetes::PodList> list_pods(const std::string& space, const std::string& query);
  async::Task<std::vector<kubernetes::Element>> quotas_of(std::string space);

  async::Runtime runtime_;
  std::shared_ptr<const kubernetes::KubeConfig> config_;
  telemetry::Logger log_;
  kubernetes::ClusterAccount account_;
  kubernetes::KubeApi api_;
  kubernetes::Watcher watcher_;
  // By project, so that an error of one does not end the launches in another.
  std::map<std::string, kubernetes::ListPermission> permissions_;
  std::map<std::string, driver::SharedPoller<kubernetes::PodList>> pods_;
  bool has_reported_quotas_ = false;
};

// The limits of one namespace, by its quotas. Ignores quotas that apply to some pods only.
driver::Limits limits_of(const std::vector<kubernetes::Element>& quotas);

// The sum of the limits of several namespaces. A resource that one of them does not limit is
// unlimited.
driver::Limits sum_of(const std::vector<driver::Limits>& limits);

}  // namespace nodepool::drivers::openshift
