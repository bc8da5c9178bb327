#include "drivers/kubernetes/watcher.h"

#include "driver/cloud_error.h"
#include "telemetry/log_errors.h"

namespace nodepool::drivers::kubernetes {

using async::Task;

namespace {

// Between two polls of a collection that cannot be watched, and two attempts to watch it.
constexpr auto kRetryInterval = std::chrono::seconds(1);

}  // namespace

Watcher::Watcher(const async::Runtime& runtime, KubeApi& api, const telemetry::Logger& log)
    : runtime_(runtime), api_(api), log_(log), scope_(runtime, telemetry::log_errors(log)) {}

void Watcher::follow(std::string name, std::string path, std::string query,
                     std::function<void()> on_change) {
  const std::string task = name;
  scope_.spawn(task, run(std::move(name), std::move(path), std::move(query), std::move(on_change)));
}

Task<> Watcher::run(std::string name, std::string path, std::string query,
                    std::function<void()> on_change) {
  std::string reported;
  while (true) {
    const std::string failure = co_await follow_once(name, path, query, on_change);
    if (failure != reported && !failure.empty()) {
      log_.warning("Error watching the cluster, polling every second instead: {}", failure);
    }
    reported = failure;
    co_await runtime_.clock.sleep_for(kRetryInterval);
    on_change();
  }
}

// Returns the error of the watch; empty if it has ended normally.
Task<std::string> Watcher::follow_once(std::string name, std::string path, std::string query,
                                       std::function<void()> on_change) {
  std::string failure;
  try {
    co_await api_.watch(std::move(name), std::move(path), std::move(query), std::move(on_change));
  } catch (const driver::CloudError& error) {
    failure = error.what();
  }
  co_return failure;
}

}  // namespace nodepool::drivers::kubernetes
