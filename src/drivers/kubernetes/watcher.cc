#include "drivers/kubernetes/watcher.h"

#include "async/backoff.h"
#include "driver/cloud_error.h"
#include "telemetry/log_errors.h"

namespace nodepool::drivers::kubernetes {

using async::Task;

namespace {

// Between two polls of a collection that cannot be watched, and the first attempts to watch it.
constexpr auto kPollInterval = std::chrono::seconds(1);
constexpr auto kLongestBackoff = std::chrono::minutes(1);

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
  async::Backoff backoff(kPollInterval, kLongestBackoff);
  while (true) {
    const auto begun = runtime_.clock.now();
    const std::string failure = co_await follow_once(name, path, query, on_change);
    if (failure != reported && !failure.empty()) {
      log_.warning("Error watching the cluster, polling every second instead: {}", failure);
    }
    reported = failure;
    // Load balancers cut idle connections: a watch that has lasted has worked.
    const bool has_lasted = runtime_.clock.now() - begun > kLongestBackoff;
    if (failure.empty() || has_lasted) {
      backoff.reset();
    } else {
      backoff.failed();
    }
    const auto retry_at = runtime_.clock.now() + backoff.pause();
    do {
      co_await runtime_.clock.sleep_for(kPollInterval);
      on_change();
    } while (runtime_.clock.now() < retry_at);
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
