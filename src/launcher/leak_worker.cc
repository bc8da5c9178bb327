#include "launcher/leak_worker.h"

namespace nodepool::launcher {

using async::Task;

namespace {

constexpr auto kSearchInterval = std::chrono::seconds(60);

}  // namespace

LeakWorker::LeakWorker(const async::Runtime& runtime, std::shared_ptr<driver::Provider> provider,
                       telemetry::Logger log)
    : runtime_(runtime),
      provider_(std::move(provider)),
      log_(std::move(log)),
      scope_(runtime, [logger = log_](const std::string& name, const std::string& error) {
        logger.error("{}: {}", name, error);
      }) {}

void LeakWorker::start() {
  if (provider_->launches()) scope_.spawn("leaks of " + provider_->config().name(), run());
}

Task<> LeakWorker::stop() {
  co_await scope_.stop();
}

Task<> LeakWorker::run() {
  while (true) {
    std::string failure;
    try {
      co_await provider_->launching()->remove_leaks();
    } catch (const async::Cancelled&) {
      throw;
    } catch (const std::exception& error) {
      failure = error.what();
    }
    if (!failure.empty()) log_.warning("Could not look for leaked resources: {}", failure);
    co_await runtime_.clock.sleep_for(kSearchInterval);
  }
}

}  // namespace nodepool::launcher
