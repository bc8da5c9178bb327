#pragma once

#include <algorithm>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "driver/images.h"
#include "drivers/kubernetes/api/kube_api.h"
#include "drivers/kubernetes/pods.h"
#include "drivers/kubernetes/watcher.h"

namespace nodepool::drivers::kubernetes {

// A namespace, or what a cluster has in its place.
struct Space {
  std::string name;
  driver::Metadata attached;
  bool is_going = false;  // it is being deleted
};

// Those at one moment.
class SpaceList {
 public:
  explicit SpaceList(std::vector<Space> spaces) : spaces_(std::move(spaces)) {}

  const std::vector<Space>& spaces() const { return spaces_; }
  const Space* find(std::string_view name) const {  // nullptr: not there
    const auto found = std::ranges::find(spaces_, name, &Space::name);
    return found == spaces_.end() ? nullptr : &*found;
  }

 private:
  std::vector<Space> spaces_;
};

// How a cluster makes namespaces, and what it lets be done in them. Every function throws
// CloudError.
class Spaces {
 public:
  virtual ~Spaces() = default;

  // "namespace": for messages.
  virtual std::string_view word() const = 0;

  // Makes one that carries `attached` from the beginning. Returns false if the name is taken.
  virtual async::Task<bool> make(std::string name, driver::Metadata attached) = 0;
  virtual async::Task<std::optional<Space>> find(std::string name) = 0;
  // All that the user is shown and that may be of nodes.
  virtual async::Task<std::vector<Space>> list() = 0;
  virtual async::Task<bool> remove(std::string name) = 0;

  // Lets the node's account work in it. May be called again.
  virtual async::Task<> grant(std::string name, bool has_pod) = 0;

  // The pods of nodes; where they cannot be listed all at once, those in `awaited`.
  virtual async::Task<std::vector<Pod>> pods(std::set<std::string> awaited) = 0;

  // Has changes told.
  virtual void follow(Watcher& watcher, std::function<void()> on_space,
                      std::function<void()> on_pod) = 0;
  // Whether follow() has those of pods told.
  virtual bool reports_pods() const = 0;

  // Whether a node's port has the namespace's name twice, and its record where the pod runs.
  virtual bool reports_all_spaces() const = 0;
};

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
  async::Task<std::vector<Pod>> pods(std::set<std::string> awaited) override;
  void follow(Watcher& watcher, std::function<void()> on_space,
              std::function<void()> on_pod) override;
  bool reports_pods() const override { return true; }
  bool reports_all_spaces() const override { return true; }

 private:
  KubeApi& api_;
};

}  // namespace nodepool::drivers::kubernetes
