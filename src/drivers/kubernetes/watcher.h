#pragma once

#include <functional>
#include <string>

#include "async/runtime.h"
#include "async/task_scope.h"
#include "drivers/kubernetes/api/kube_api.h"

namespace nodepool::drivers::kubernetes {

// Follows collections of a cluster for as long as it is started: whoever looks at them is told when
// to look. A collection that cannot be followed is to be looked at every second instead.
class Watcher {
 public:
  // `api` outlives it.
  Watcher(const async::Runtime& runtime, KubeApi& api, const telemetry::Logger& log);

  // Calls `on_change` from now on. `name` and so on as of KubeApi::watch().
  void follow(std::string name, std::string path, std::string query,
              std::function<void()> on_change);

  async::Task<> stop() { return scope_.stop(); }

 private:
  async::Task<> run(std::string name, std::string path, std::string query,
                    std::function<void()> on_change);
  async::Task<std::string> follow_once(std::string name, std::string path, std::string query,
                                       std::function<void()> on_change);

  async::Runtime runtime_;
  KubeApi& api_;
  telemetry::Logger log_;
  async::TaskScope scope_;
};

}  // namespace nodepool::drivers::kubernetes
