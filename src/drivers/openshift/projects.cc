#include "drivers/openshift/projects.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <vector>

#include "async/slots.h"
#include "async/task_scope.h"
#include "driver/cloud_error.h"
#include "drivers/kubernetes/manifests.h"
#include "drivers/kubernetes/metadata.h"
#include "telemetry/log_errors.h"

namespace nodepool::drivers::openshift {

using async::Task;
using driver::CloudError;
using kubernetes::Pod;
using kubernetes::PodList;
using kubernetes::Space;

namespace {

constexpr const char* kApi = "/apis/project.openshift.io/v1";
constexpr const char* kDescription = "openshift.io/description";
constexpr std::size_t kConcurrentListings = 20;

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
              .is_going = !metadata.text_or("deletionTimestamp").empty()};
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

Task<std::vector<Space>> Projects::list() {
  return api_.list("list projects", std::string(kApi) + "/projects", "", read_project);
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

// The listings of several projects, which run concurrently.
struct Projects::Listings {
  async::Slots slots{kConcurrentListings};
  std::vector<Pod> pods;
  std::set<std::string> unread;
  std::map<std::string, CloudError> failures;  // by project
};

// The user may list the pods of each project, but not of all at once. If all listings fail, the
// caller backs off; otherwise each failing project has its own backoff.
Task<PodList> Projects::pods(std::set<std::string> awaited) {
  std::erase_if(failing_, [&awaited](const auto& entry) { return !awaited.contains(entry.first); });
  Listings listings;
  listings.unread = awaited;
  async::TaskScope scope(runtime_, telemetry::log_errors(log_));
  for (const std::string& name : awaited) {
    if (is_due(name)) scope.spawn("list pods of project " + name, list_pods(name, listings));
  }
  co_await scope.join_or_stop();
  const bool has_any = listings.unread.size() < awaited.size();
  for (const auto& [project, error] : listings.failures) {
    if (!has_any) throw CloudError(error);
    back_off(project, error);
  }
  co_return PodList(std::move(listings.pods), std::move(listings.unread));
}

bool Projects::is_due(const std::string& project) const {
  const auto failing = failing_.find(project);
  return failing == failing_.end() || failing->second.next_attempt <= runtime_.clock.now();
}

// A project that has been deleted meanwhile has no pods.
Task<> Projects::list_pods(std::string project, Listings& listings) {
  const auto turn = co_await listings.slots.take();
  try {
    const std::string path = "/api/v1/namespaces/" + project + "/pods";
    std::vector<Pod> found = co_await api_.list("list pods", path, "", kubernetes::read_pod);
    std::ranges::move(found, std::back_inserter(listings.pods));
  } catch (const CloudError& error) {
    if (!may_be_missing(error)) {
      listings.failures.emplace(project, error);
      co_return;
    }
  }
  listings.unread.erase(project);
  failing_.erase(project);
}

// Logs the first failure only.
void Projects::back_off(const std::string& project, const CloudError& error) {
  const auto [failing, is_new] = failing_.try_emplace(project);
  if (is_new) log_.warning("Error listing the pods of project {}: {}", project, error.what());
  failing->second.next_attempt = runtime_.clock.now() + failing->second.backoff.failed();
}

void Projects::follow(kubernetes::Watcher& watcher, std::function<void()> on_space,
                      std::function<void()> /*on_pod*/) {
  watcher.follow("watch projects", std::string(kApi) + "/projects", "", std::move(on_space));
}

}  // namespace nodepool::drivers::openshift
