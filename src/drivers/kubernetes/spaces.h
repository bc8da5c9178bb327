#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "async/runtime.h"
#include "cloud/by_id.h"
#include "driver/images.h"
#include "drivers/kubernetes/api/kube_api.h"
#include "drivers/kubernetes/list_permission.h"
#include "drivers/kubernetes/pods.h"
#include "drivers/kubernetes/watcher.h"
#include "telemetry/log.h"

namespace nodepool::drivers::kubernetes {

// A namespace or project.
struct Space {
  std::string name;
  driver::Metadata attached;
  bool is_going = false;  // being deleted
  std::string obstacles;  // to its deletion, as Kubernetes reports them; empty: none, or unknown
};

// Reads `obstacles` of a namespace or project: "NamespaceContentRemaining: Some resources are …".
// Throws CloudError(failed) if it is invalid.
std::string read_obstacles(const Element& object);

using SpaceList = cloud::ById<Space, &Space::name>;

// Makes, lists and deletes namespaces or projects. All functions throw CloudError.
class Spaces {
 public:
  virtual ~Spaces() = default;

  // "namespace": for messages.
  virtual std::string_view word() const = 0;

  // Makes one with the tags `attached`. Returns false if the name is taken.
  virtual async::Task<bool> make(std::string name, driver::Metadata attached) = 0;
  virtual async::Task<std::optional<Space>> find(std::string name) = 0;
  // All visible ones that may belong to nodes; unknown if the user may not list them.
  virtual async::Task<SpaceList> list() = 0;
  virtual async::Task<bool> remove(std::string name) = 0;

  // Grants the node's service account its permissions. Idempotent.
  virtual async::Task<> grant(std::string name, bool has_pod) = 0;

  // The pods of all nodes; unknown if the user may not list them at once.
  virtual async::Task<PodList> pods() = 0;
  // A pod in the namespace `space`.
  virtual async::Task<std::optional<Pod>> find_pod(std::string space, std::string name) = 0;

  // Starts the watches.
  virtual void follow(Watcher& watcher, std::function<void()> on_space,
                      std::function<void()> on_pod) = 0;
  // Whether pods() may list them, and follow() watches them.
  virtual bool reports_pods() const = 0;

  // Whether the node's connection_port has the namespace's name twice, and its record the pod's
  // cluster node.
  virtual bool reports_all_spaces() const = 0;
};

// `api` outlives the result.
using MakeSpaces = std::function<std::unique_ptr<Spaces>(KubeApi& api)>;

// The namespaces of Kubernetes.
class Namespaces final : public Spaces {
 public:
  // `api` outlives it.
  Namespaces(const async::Runtime& runtime, const telemetry::Logger& log, KubeApi& api);

  std::string_view word() const override { return "namespace"; }
  async::Task<bool> make(std::string name, driver::Metadata attached) override;
  async::Task<std::optional<Space>> find(std::string name) override;
  async::Task<SpaceList> list() override;
  async::Task<bool> remove(std::string name) override;
  async::Task<> grant(std::string name, bool has_pod) override;
  async::Task<PodList> pods() override;
  async::Task<std::optional<Pod>> find_pod(std::string space, std::string name) override;
  void follow(Watcher& watcher, std::function<void()> on_space,
              std::function<void()> on_pod) override;
  bool reports_pods() const override { return true; }
  bool reports_all_spaces() const override { return true; }

 private:
  KubeApi& api_;
  ListPermission may_list_;
  ListPermission may_list_pods_;
};

}  // namespace nodepool::drivers::kubernetes
