#include "drivers/kubernetes/spaces.h"

#include "drivers/kubernetes/manifests.h"
#include "drivers/kubernetes/metadata.h"

namespace nodepool::drivers::kubernetes {

using async::Task;

namespace {

constexpr const char* kCollection = "/api/v1/namespaces";
constexpr const char* kPods = "/api/v1/pods";

std::string path_of(const std::string& name) {
  return std::string(kCollection) + "/" + name;
}

Space read_space(const Element& object) {
  const Element metadata = object.object("metadata");
  return {.name = metadata.text("name"),
          .attached = attached_to(object),
          .is_going = !metadata.text_or("deletionTimestamp").empty(),
          .obstacles = read_obstacles(object)};
}

}  // namespace

// These conditions are about deletions only, such as NamespaceFinalizersRemaining.
std::string read_obstacles(const Element& object) {
  std::string obstacles;
  const auto status = object.optional_object("status");
  if (!status) return obstacles;
  for (const Element& condition : status->list("conditions")) {
    const std::string type = condition.text_or("type");
    if (!type.starts_with("Namespace") || condition.text_or("status") != "True") continue;
    if (!obstacles.empty()) obstacles += "; ";
    obstacles += type + ": " + condition.text_or("message");
  }
  return obstacles;
}

Namespaces::Namespaces(const async::Runtime& runtime, const telemetry::Logger& log, KubeApi& api)
    : api_(api),
      may_list_(runtime, log, "all namespaces",
                "Not finding leaked namespaces, and not checking ready nodes"),
      may_list_pods_(runtime, log, "the pods of all namespaces",
                     "Reading the pods of launches one by one, and not noticing that the pod of a "
                     "ready node has ended") {}

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

Task<SpaceList> Namespaces::list() {
  return may_list_.list<SpaceList>(
      api_.list("list namespaces", kCollection, std::string(kOfNodes), read_space));
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
  return may_list_pods_.list<PodList>(
      api_.list("list pods", kPods, std::string(kOfNodes), read_pod));
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
