#pragma once

#include <functional>
#include <string>

#include "async/runtime.h"
#include "async/task_scope.h"
#include "driver/statemachine/next_poll.h"
#include "drivers/kubernetes/api/kube_api.h"

namespace nodepool::drivers::kubernetes {

// Intervals of the polls of a collection with and without a watch. A watch may miss a change.
inline constexpr driver::PollIntervals kWatched = {.unknown = std::chrono::seconds(30),
                                                   .least = std::chrono::milliseconds(50)};
inline constexpr driver::PollIntervals kUnwatched = {.unknown = std::chrono::seconds(1),
                                                     .least = kWatched.least};

// Watches collections of a cluster, to trigger polls. If a watch fails, triggers a poll every
// second instead, and retries the watch with backoff, unless it has lasted for longer than a
// minute.
class Watcher {
 public:
  // `api` outlives it.
  Watcher(const async::Runtime& runtime, KubeApi& api, const telemetry::Logger& log);

  // Starts a watch that calls `on_change`. The other parameters are those of KubeApi::watch().
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
