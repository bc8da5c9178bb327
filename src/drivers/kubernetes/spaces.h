#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "cloud/by_id.h"
#include "driver/images.h"
#include "drivers/kubernetes/api/kube_api.h"
#include "drivers/kubernetes/pods.h"
#include "drivers/kubernetes/watcher.h"

namespace nodepool::drivers::kubernetes {

// A namespace or project.
struct Space {
  std::string name;
  driver::Metadata attached;
  bool is_going = false;  // being deleted
};

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
  // All visible ones that may belong to nodes.
  virtual async::Task<std::vector<Space>> list() = 0;
  virtual async::Task<bool> remove(std::string name) = 0;

  // Grants the node's service account its permissions. Idempotent.
  virtual async::Task<> grant(std::string name, bool has_pod) = 0;

  // The pods of nodes. If they cannot be listed at once, only those in the namespaces `awaited`,
  // of which some may be unread; throws if listings have failed and none has succeeded.
  virtual async::Task<PodList> pods(std::set<std::string> awaited) = 0;

  // Starts the watches.
  virtual void follow(Watcher& watcher, std::function<void()> on_space,
                      std::function<void()> on_pod) = 0;
  // Whether follow() watches pods.
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
  explicit Namespaces(KubeApi& api) : api_(api) {}

  std::string_view word() const override { return "namespace"; }
  async::Task<bool> make(std::string name, driver::Metadata attached) override;
  async::Task<std::optional<Space>> find(std::string name) override;
  async::Task<std::vector<Space>> list() override;
  async::Task<bool> remove(std::string name) override;
  async::Task<> grant(std::string name, bool has_pod) override;
  async::Task<PodList> pods(std::set<std::string> awaited) override;
  void follow(Watcher& watcher, std::function<void()> on_space,
              std::function<void()> on_pod) override;
  bool reports_pods() const override { return true; }
  bool reports_all_spaces() const override { return true; }

 private:
  KubeApi& api_;
};

}  // namespace nodepool::drivers::kubernetes
