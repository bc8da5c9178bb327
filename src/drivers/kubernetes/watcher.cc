#include "drivers/kubernetes/watcher.h"

#include "driver/cloud_error.h"

namespace nodepool::drivers::kubernetes {

using async::Task;

namespace {

// Between two looks at what cannot be followed, and two attempts at following it.
constexpr auto kLookAgain = std::chrono::seconds(1);

}  // namespace

Watcher::Watcher(const async::Runtime& runtime, KubeApi& api, const telemetry::Logger& log)
    : runtime_(runtime),
      api_(api),
      log_(log),
      scope_(runtime, [log](const std::string& name, const std::string& error) {
        log.error("{}: {}", name, error);
      }) {}

void Watcher::follow(std::string name, std::string path, std::string query,
                     std::function<void()> on_change) {
  const std::string task = name;
  scope_.spawn(task, run(std::move(name), std::move(path), std::move(query), std::move(on_change)));
}

Task<> Watcher::run(std::string name, std::string path, std::string query,
                    std::function<void()> on_change) {
  std::string told;
  while (true) {
    const std::string trouble = co_await follow_once(name, path, query, on_change);
    if (trouble != told && !trouble.empty()) {
      log_.warning("Changes are looked for every second, as the cluster does not tell of them: {}",
                   trouble);
    }
    told = trouble;
    co_await runtime_.clock.sleep_for(kLookAgain);
    on_change();
  }
}

// Why the cluster cannot be followed; empty if it can.
Task<std::string> Watcher::follow_once(std::string name, std::string path, std::string query,
                                       std::function<void()> on_change) {
  std::string trouble;
  try {
    co_await api_.watch(std::move(name), std::move(path), std::move(query), std::move(on_change));
  } catch (const driver::CloudError& error) {
    trouble = error.what();
  }
  co_return trouble;
}

}  // namespace nodepool::drivers::kubernetes
