#include "drivers/kubernetes/spaces.h"

#include <chrono>

#include "driver/cloud_error.h"
#include "drivers/kubernetes/api/classify.h"
#include "drivers/kubernetes/manifests.h"
#include "drivers/kubernetes/metadata.h"

namespace nodepool::drivers::kubernetes {

using async::Task;

namespace {

constexpr const char* kCollection = "/api/v1/namespaces";
constexpr const char* kPods = "/api/v1/pods";

// Between two attempts to list pods without permission, which may be granted meanwhile.
constexpr auto kPermissionInterval = std::chrono::minutes(1);

std::string path_of(const std::string& name) {
  return std::string(kCollection) + "/" + name;
}

Space read_space(const Element& object) {
  const Element metadata = object.object("metadata");
  return {.name = metadata.text("name"),
          .attached = attached_to(object),
          .is_going = !metadata.text_or("deletionTimestamp").empty()};
}

}  // namespace

Task<bool> Namespaces::make(std::string name, driver::Metadata attached) {
  Json body = {
      {"apiVersion", "v1"}, {"kind", "Namespace"}, {"metadata", object_metadata(name, attached)}};
  co_return co_await api_.make("create namespace", kCollection, std::move(body),
                               KubeApi::Retry::forbidden);
}

Task<std::optional<Space>> Namespaces::find(std::string name) {
  const std::optional<Element> found = co_await api_.find("get namespace", path_of(name));
  if (!found) co_return std::nullopt;
  co_return read_space(*found);
}

Task<std::vector<Space>> Namespaces::list() {
  return api_.list("list namespaces", kCollection, std::string(kOfNodes), read_space);
}

Task<bool> Namespaces::remove(std::string name) {
  co_return co_await api_.remove("delete namespace", path_of(name));
}

Task<> Namespaces::grant(std::string name, bool has_pod) {
  const std::string base = "/apis/rbac.authorization.k8s.io/v1/namespaces/" + name;
  Json role = has_pod ? pod_role() : namespace_role();
  const std::string role_name = role["metadata"]["name"];
  co_await api_.make("create role", base + "/roles", std::move(role), KubeApi::Retry::allowed);
  co_await api_.make("create role binding", base + "/rolebindings",
                     role_binding("zuul-role", name, "Role", role_name), KubeApi::Retry::allowed);
}

Task<PodList> Namespaces::pods() {
  const auto now = runtime_.clock.now();
  if (list_pods_at_ && now < *list_pods_at_) co_return PodList::unknown();
  try {
    PodList pods(co_await api_.list("list pods", kPods, std::string(kOfNodes), read_pod));
    if (list_pods_at_) log_.info("The pods of all namespaces may be listed again");
    list_pods_at_.reset();
    co_return pods;
  } catch (const driver::CloudError& error) {
    if (!lacks_permission(error)) throw;
    if (!list_pods_at_) {
      log_.warning(
          "Reading the pods of launches one by one, and not noticing that the pod of a ready node "
          "has ended: {}",
          error.what());
    }
  }
  list_pods_at_ = now + kPermissionInterval;
  co_return PodList::unknown();
}

Task<std::optional<Pod>> Namespaces::find_pod(std::string space, std::string name) {
  const auto found = co_await api_.find("get pod", path_of(space) + "/pods/" + name);
  if (!found) co_return std::nullopt;
  co_return read_pod(*found);
}

void Namespaces::follow(Watcher& watcher, std::function<void()> on_space,
                        std::function<void()> on_pod) {
  watcher.follow("watch namespaces", kCollection, std::string(kOfNodes), std::move(on_space));
  watcher.follow("watch pods", kPods, std::string(kOfNodes), std::move(on_pod));
}

}  // namespace nodepool::drivers::kubernetes
