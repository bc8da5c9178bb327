#pragma once

#include <functional>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "async/thread_pool.h"
#include "driver/statemachine/adapter.h"
#include "driver/statemachine/shared_poller.h"
#include "drivers/kubernetes/config/kube_config.h"
#include "drivers/kubernetes/space_launch.h"
#include "drivers/kubernetes/spaces.h"
#include "drivers/kubernetes/watcher.h"

namespace nodepool::drivers::kubernetes {

// How often is looked at a cluster that does not tell of its changes, and how often at most.
struct PollPolicy {
  async::Duration followed = std::chrono::seconds(30);  // lest something is not told
  async::Duration unfollowed = std::chrono::seconds(1);
  async::Duration least = std::chrono::milliseconds(50);
};

// A cluster whose nodes have a namespace each. See docs/drivers/kubernetes.md for the calls.
class SpaceAdapter final : public driver::Adapter {
 public:
  using MakeSpaces = std::function<std::unique_ptr<Spaces>(KubeApi& api)>;

  // `threads` outlive it. `on_attempt` is told of every attempt at a call.
  SpaceAdapter(const async::Runtime& runtime, std::shared_ptr<const KubeConfig> config,
               async::ThreadPool& threads, telemetry::Logger log, const MakeSpaces& make_spaces,
               http::Client::Observer on_attempt = {}, const PollPolicy& poll_policy = {});

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
  // A name cannot be given twice, whenever a lost call arrives.
  async::Duration consistency_delay() const override { return std::chrono::seconds(2); }

 private:
  async::Task<> remove_space(std::string name, std::function<void()> accepted);
  async::Task<SpaceList> ask_spaces();
  async::Task<PodList> ask_pods();

  async::Runtime runtime_;
  std::shared_ptr<const KubeConfig> config_;
  telemetry::Logger log_;
  KubeApi api_;
  std::unique_ptr<Spaces> spaces_;
  Watcher watcher_;
  std::multiset<std::string> awaited_;
  driver::SharedPoller<SpaceList> space_list_;
  driver::SharedPoller<PodList> pods_;
};

// What is wrong with a label whose pod cannot be described; nothing if it can.
std::optional<std::string> problem_of(const KubeLabel& label);

// Whether the pod of a ready node runs. One that nobody can tell of does.
async::Task<bool> runs(KubeApi& api, std::string space, std::string pod);

}  // namespace nodepool::drivers::kubernetes
