#pragma once

#include <memory>

#include "async/runtime.h"
#include "async/thread_pool.h"
#include "cloud/endpoints.h"
#include "driver/statemachine/shared_poller.h"
#include "drivers/kubernetes/api/kube_api.h"
#include "drivers/kubernetes/spaces.h"
#include "drivers/kubernetes/watcher.h"
#include "telemetry/log.h"

namespace nodepool::drivers::kubernetes {

// One user of a cluster. Its providers share the credential, the watches and the listings.
class ClusterEndpoint final : public cloud::Endpoint {
 public:
  // `threads` outlives it. `make_spaces`: for the listings.
  ClusterEndpoint(const async::Runtime& runtime, Cluster cluster, async::ThreadPool& threads,
                  const telemetry::Logger& log, const MakeSpaces& make_spaces);

  // Whether it has the same cluster and user, and is still in use.
  bool is_of(const Cluster& cluster) const { return !is_closed() && cluster == account_.cluster(); }

  // Starts the watches, unless they have been started.
  void start();

  ClusterAccount& account() { return account_; }
  driver::SharedPoller<SpaceList>& space_list() { return space_list_; }
  // Of nodes.
  driver::SharedPoller<PodList>& pods() { return pods_; }
  // All of the cluster: its usage.
  driver::SharedPoller<PodList>& cluster_pods() { return cluster_pods_; }

 private:
  async::Task<> stop() override;

  ClusterAccount account_;
  KubeApi api_;
  std::unique_ptr<Spaces> spaces_;
  Watcher watcher_;
  bool started_ = false;
  driver::SharedPoller<SpaceList> space_list_;
  driver::SharedPoller<PodList> pods_;
  driver::SharedPoller<PodList> cluster_pods_;
};

}  // namespace nodepool::drivers::kubernetes
