#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cloud/by_id.h"
#include "driver/images.h"
#include "driver/resources.h"
#include "driver/statemachine/instance.h"
#include "driver/statemachine/shared_poller.h"
#include "drivers/kubernetes/api/kube_api.h"

namespace nodepool::drivers::kubernetes {

// The relevant fields of a pod.
struct Pod {
  std::string space;  // its namespace
  std::string name;
  driver::Metadata attached;
  std::string phase;
  std::string problem;   // Kubernetes's reason why it does not run
  bool is_lost = false;  // will never run
  bool is_going = false;
  std::string host;           // the cluster node that it runs on
  driver::Resources request;  // its resource requests, and one instance

  // "namespace/name".
  std::string path() const { return space + "/" + name; }
};

// A listing of pods.
class PodList : public cloud::ById<Pod, &Pod::path> {
 public:
  explicit PodList(std::vector<Pod> pods) : ById(std::move(pods)) {}

  // Pods that the user may not list: any may exist.
  static PodList unknown() {
    PodList list({});
    list.is_known_ = false;
    return list;
  }

  // Awaits and indexes a listing. Throws what it throws.
  static async::Task<PodList> of(async::Task<std::vector<Pod>> listing) {
    co_return PodList(co_await std::move(listing));
  }

  // Whether a pod that is not in it does not exist.
  bool is_known() const { return is_known_; }

 private:
  bool is_known_ = true;
};

// Reads a pod. Throws CloudError(failed) if it is invalid.
Pod read_pod(const Element& object);

// Sets the state of a node's machine by its pod, and the explanation.
void set_state(driver::Machine& machine, const Pod& pod);

// Parses a quantity such as "100m", "1.5" or "2Gi"; 0 if it is invalid.
double quantity(std::string_view text);

// Reads the resources of a cluster node or a quota, such as {"cpu": "4", …}, with the names of
// driver::Limits ("cores"). `prefix`: only names with this prefix, such as "requests.".
std::map<std::string, double, std::less<>> amounts_of(const Element& resources,
                                                      std::string_view prefix = {});

// Returns the pod when it runs; nothing as soon as `pods` are unknown. `enter` is called with its
// state. Throws CloudError, `failed` if the pod will never run.
async::Task<std::optional<Pod>> wait_until_running(driver::SharedPoller<PodList>& pods,
                                                   driver::PollWaiter& awaited, std::string space,
                                                   std::string name,
                                                   std::function<void(std::string)> enter,
                                                   telemetry::Logger log);

}  // namespace nodepool::drivers::kubernetes
