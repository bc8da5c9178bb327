#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "async/thread_pool.h"
#include "driver/statemachine/adapter.h"
#include "driver/statemachine/shared_poller.h"
#include "drivers/kubernetes/config/kube_config.h"
#include "drivers/kubernetes/pods.h"
#include "drivers/kubernetes/space_adapter.h"
#include "drivers/kubernetes/watcher.h"

namespace nodepool::drivers::openshift {

// A cluster whose nodes are pods in namespaces that are there already: a pool's name is that of its
// namespace. See docs/drivers/openshiftpods.md for the calls.
class PodAdapter final : public driver::Adapter {
 public:
  // `threads` outlive it. `on_attempt` is told of every attempt at a call.
  PodAdapter(const async::Runtime& runtime, std::shared_ptr<const kubernetes::KubeConfig> config,
             async::ThreadPool& threads, telemetry::Logger log,
             http::Client::Observer on_attempt = {},
             const kubernetes::PollPolicy& poll_policy = {});

  async::Task<> start() override;
  async::Task<> stop() override;

  async::Task<driver::Instance> create(driver::CreateSpec spec,
                                       driver::LaunchSteps& steps) override;
  async::Task<> remove(model::Json external_id, driver::LaunchSteps& steps) override;
  async::Task<std::vector<driver::Instance>> instances() override;
  async::Task<std::vector<driver::Resource>> resources() override;
  async::Task<> remove_resource(driver::Resource resource) override;
  async::Task<driver::Limits> limits() override;
  async::Task<driver::Resources> need(std::string pool, std::string label) override;
  async::Task<std::optional<std::string>> label_problem(std::string pool,
                                                        std::string label) override;
  async::Task<bool> is_usable(model::Node node) override;
  async::Duration consistency_delay() const override { return std::chrono::seconds(2); }

 private:
  // Where a node's pod is.
  struct Place {
    std::string space;
    std::string name;
  };

  async::Task<std::string> make_pod(driver::CreateSpec spec, driver::LaunchSteps& steps);
  async::Task<std::optional<std::string>> find_pod(driver::CreateSpec spec,
                                                   driver::LaunchSteps& steps);
  async::Task<bool> is_ours(std::string path, driver::Metadata marks);
  async::Task<driver::Instance> describe(driver::CreateSpec spec, kubernetes::Pod pod);
  async::Task<> remove_pod(std::string id, std::function<void()> accepted);
  async::Task<std::optional<Place>> place_of(std::string id);
  async::Task<std::vector<kubernetes::Pod>> list_pods(std::string query);
  async::Task<kubernetes::PodList> ask_pods();
  async::Task<std::vector<kubernetes::Element>> quotas_of(std::string space);

  async::Runtime runtime_;
  std::shared_ptr<const kubernetes::KubeConfig> config_;
  telemetry::Logger log_;
  kubernetes::KubeApi api_;
  kubernetes::Watcher watcher_;
  driver::SharedPoller<kubernetes::PodList> pods_;
  bool told_of_quotas_ = false;
};

// What one namespace may have at most, by its quotas. One that counts for some pods only is left
// out.
driver::Limits limits_of(const std::vector<kubernetes::Element>& quotas);

// The most of several namespaces together: a resource that one of them does not limit is not
// limited.
driver::Limits sum_of(const std::vector<driver::Limits>& limits);

}  // namespace nodepool::drivers::openshift
