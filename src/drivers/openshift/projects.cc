#include "drivers/openshift/projects.h"

#include <vector>

#include "driver/cloud_error.h"
#include "drivers/kubernetes/manifests.h"
#include "drivers/kubernetes/metadata.h"

namespace nodepool::drivers::openshift {

using async::Task;
using driver::CloudError;
using kubernetes::Pod;
using kubernetes::PodList;
using kubernetes::Space;
using kubernetes::SpaceList;

namespace {

constexpr const char* kApi = "/apis/project.openshift.io/v1";
constexpr const char* kDescription = "openshift.io/description";

std::string path_of(const std::string& name) {
  return std::string(kApi) + "/projects/" + name;
}

// Other users may have written the description.
driver::Metadata described(const std::string& description) {
  driver::Metadata metadata;
  try {
    const Element written(json::parse(description), "a description");
    metadata = written.own_texts();
  } catch (const json::ParseError&) {
  } catch (const CloudError&) {
  }
  return metadata;
}

Space read_project(const Element& object) {
  const Element metadata = object.object("metadata");
  Space space{.name = metadata.text("name"),
              .attached = kubernetes::attached_to(object),
              .is_going = !metadata.text_or("deletionTimestamp").empty(),
              .obstacles = kubernetes::read_obstacles(object)};
  const driver::Metadata annotations = metadata.texts("annotations");
  const auto description = annotations.find(kDescription);
  if (description != annotations.end()) space.attached.merge(described(description->second));
  return space;
}

// For a missing project, OpenShift returns "forbidden".
bool may_be_missing(const CloudError& error) {
  return error.kind() == CloudError::Kind::permanent || error.kind() == CloudError::Kind::not_found;
}

}  // namespace

Task<bool> Projects::make(std::string name, driver::Metadata attached) {
  Json body = {{"apiVersion", "project.openshift.io/v1"},
               {"kind", "ProjectRequest"},
               {"metadata", kubernetes::object_metadata(name, attached)},
               {"displayName", name},
               {"description", Json(attached).dump()}};
  co_return co_await api_.make("create project", std::string(kApi) + "/projectrequests",
                               std::move(body), KubeApi::Retry::forbidden);
}

Task<std::optional<Space>> Projects::find(std::string name) {
  try {
    const std::optional<Element> found = co_await api_.find("get project", path_of(name));
    if (found) co_return read_project(*found);
  } catch (const CloudError& error) {
    if (!may_be_missing(error)) throw;
  }
  co_return std::nullopt;
}

Task<SpaceList> Projects::list() {
  return SpaceList::of(
      api_.list("list projects", std::string(kApi) + "/projects", "", read_project));
}

Task<bool> Projects::remove(std::string name) {
  std::exception_ptr failure;
  try {
    co_return co_await api_.remove("delete project", path_of(name));
  } catch (const CloudError& error) {
    if (!may_be_missing(error)) throw;
    failure = std::current_exception();
  }
  const std::optional<Space> project = co_await find(name);
  if (project) std::rethrow_exception(failure);
  co_return false;
}

Task<> Projects::grant(std::string name, bool /*has_pod*/) {
  const std::string path =
      "/apis/rbac.authorization.k8s.io/v1/namespaces/" + name + "/rolebindings";
  co_await api_.make("create role binding", path,
                     kubernetes::role_binding("admin-0", name, "ClusterRole", "admin"),
                     KubeApi::Retry::allowed);
}

// The user may list the pods of each project, but not of all at once.
Task<PodList> Projects::pods() {
  co_return PodList::unknown();
}

// A project that has been deleted meanwhile has no pods.
Task<std::optional<Pod>> Projects::find_pod(std::string space, std::string name) {
  try {
    const auto found =
        co_await api_.find("get pod", "/api/v1/namespaces/" + space + "/pods/" + name);
    if (found) co_return kubernetes::read_pod(*found);
  } catch (const CloudError& error) {
    if (!may_be_missing(error)) throw;
  }
  co_return std::nullopt;
}

void Projects::follow(kubernetes::Watcher& watcher, std::function<void()> on_space,
                      std::function<void()> /*on_pod*/) {
  watcher.follow("watch projects", std::string(kApi) + "/projects", "", std::move(on_space));
}

}  // namespace nodepool::drivers::openshift
