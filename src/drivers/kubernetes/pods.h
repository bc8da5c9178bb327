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

using PodList = cloud::ById<Pod, &Pod::path>;

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

// How to wait for a pod.
struct PodWait {
  async::Runtime runtime;
  telemetry::Logger log;
  std::string space;
  std::string name;
  // Reads the pod itself.
  std::function<async::Task<std::optional<Pod>>()> find;
  // Called with its state.
  std::function<void(std::string)> enter;
};

// Returns the pod when it runs. As soon as `pods` are unknown, reads the pod itself every second.
// If that is forbidden, but either was permitted shortly before, polls `pods` again. Throws
// CloudError, `failed` if the pod will never run. `awaited` outlives the call.
async::Task<Pod> wait_until_running(PodWait wait, driver::SharedPoller<PodList>& pods,
                                    driver::PollWaiter& awaited);

}  // namespace nodepool::drivers::kubernetes
