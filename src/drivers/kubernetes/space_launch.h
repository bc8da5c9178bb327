#pragma once

#include <string>
#include <utility>

#include "driver/statemachine/adapter.h"
#include "driver/statemachine/shared_poller.h"
#include "drivers/kubernetes/config/kube_config.h"
#include "drivers/kubernetes/spaces.h"

namespace nodepool::drivers::kubernetes {

// The dependencies of launches. All of them outlive these.
struct SpaceContext {
  async::Runtime runtime;
  const KubeConfig& config;
  KubeApi& api;
  Spaces& spaces;
  driver::SharedPoller<PodList>& pods;
  telemetry::Logger log;
};

// Makes one node in its own namespace; see driver::Adapter::create().
class SpaceLaunch {
 public:
  // `steps` outlives it.
  SpaceLaunch(SpaceContext context, driver::CreateSpec spec, driver::LaunchSteps& steps);

  // Throws CloudError.
  async::Task<driver::Instance> run();

 private:
  struct Account {
    std::string token;
    std::string ca;  // base64
  };

  async::Task<std::string> make_space();
  async::Task<std::optional<std::string>> find_space();
  async::Task<bool> is_ours(std::string name);
  async::Task<Account> make_account(std::string space);
  async::Task<> make(std::string name, std::string path, Json body);
  async::Task<Account> read_account(std::string space);
  async::Task<Account> find_account(std::string path);
  async::Task<Pod> run_pod(std::string space);
  driver::Instance describe(const std::string& space, const Account& account) const;

  SpaceContext context_;
  driver::CreateSpec spec_;
  driver::LaunchSteps& steps_;
  const KubeLabel& label_;
  driver::Metadata attached_;
  std::vector<std::string> names_;
};

// The tags of a node's objects. Logs and omits invalid labels.
driver::Metadata attached_for(const KubeLabel& label, const driver::CreateSpec& spec,
                              const telemetry::Logger& log);

// The value of the node's `connection_port`, which Zuul reads. `ca` is base64; it is omitted if
// `may_lack_ca` and the cluster's certificate is not verified.
Json connection_port(const Cluster& cluster, const std::string& space, const std::string& pod,
                     const std::string& token, const std::string& ca, bool may_lack_ca);

}  // namespace nodepool::drivers::kubernetes
