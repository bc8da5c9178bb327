#pragma once

#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "driver/images.h"
#include "driver/resources.h"
#include "driver/statemachine/shared_poller.h"
#include "drivers/kubernetes/api/kube_api.h"

namespace nodepool::drivers::kubernetes {

// A pod, as far as it matters here.
struct Pod {
  std::string space;  // the namespace that it is in
  std::string name;
  driver::Metadata attached;
  std::string phase;
  std::string trouble;   // why it does not run, in Kubernetes' words
  bool is_lost = false;  // it will never run
  bool is_going = false;
  std::string host;           // the cluster's node that it runs on
  driver::Resources request;  // what it asks for, and one instance
};

// Throws CloudError(failed) for what is no pod.
Pod read_pod(const Element& object);

// The pods at one moment.
class PodList {
 public:
  explicit PodList(std::vector<Pod> pods) : pods_(std::move(pods)) {}

  const std::vector<Pod>& pods() const { return pods_; }
  const Pod* find(std::string_view space, std::string_view name) const;  // nullptr: not there

 private:
  std::vector<Pod> pods_;
};

// How many of a resource a text such as "100m", "1.5" or "2Gi" means; 0 if it is none.
double quantity(std::string_view text);

// What a node or a quota has of each resource, in the words of limits: {"cpu": "4", …} is cores.
// `prefix` is what its names begin with: "requests."; others are left out.
std::map<std::string, double, std::less<>> amounts_of(const Element& resources,
                                                      std::string_view prefix = {});

// Returns once the pod runs. Throws CloudError: failed when it never will.
async::Task<Pod> wait_until_running(driver::SharedPoller<PodList>& pods,
                                    driver::PollWaiter& awaited, std::string space,
                                    std::string name, std::function<void(std::string)> tell,
                                    telemetry::Logger log);

}  // namespace nodepool::drivers::kubernetes
