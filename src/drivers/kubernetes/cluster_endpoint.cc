#include "drivers/kubernetes/cluster_endpoint.h"

#include <utility>

namespace nodepool::drivers::kubernetes {

using async::Task;

ClusterEndpoint::ClusterEndpoint(const async::Runtime& runtime, Cluster cluster,
                                 async::ThreadPool& threads, const telemetry::Logger& log,
                                 const MakeSpaces& make_spaces)
    : account_(runtime, std::move(cluster), threads, log),
      api_(runtime, account_, log, observer()),
      spaces_(make_spaces(api_)),
      watcher_(runtime, api_, log),
      space_list_(runtime, "Kubernetes namespaces", kWatched, [this] { return spaces_->list(); }),
      pods_(runtime, "Kubernetes pods", spaces_->reports_pods() ? kWatched : kUnwatched,
            [this] { return spaces_->pods(); }),
      cluster_pods_(runtime, "Kubernetes pods of the cluster", kUnwatched, [this] {
        return PodList::of(api_.list("list pods", "/api/v1/pods", "", read_pod));
      }) {}

void ClusterEndpoint::start() {
  if (std::exchange(started_, true)) return;
  spaces_->follow(watcher_, [this] { space_list_.poll_now(); }, [this] { pods_.poll_now(); });
}

Task<> ClusterEndpoint::stop() {
  co_await watcher_.stop();
  co_await space_list_.stop();
  co_await pods_.stop();
  co_await cluster_pods_.stop();
  co_await account_.stop();
}

}  // namespace nodepool::drivers::kubernetes
