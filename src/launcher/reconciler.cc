#include "launcher/reconciler.h"

#include "telemetry/log_errors.h"

namespace nodepool::launcher {

namespace {

constexpr auto kInterval = std::chrono::seconds(60);

}  // namespace

Reconciler::Reconciler(const WorkerContext& context, HistoryRecorder& history,
                       std::shared_ptr<driver::Provider> provider, telemetry::Logger log)
    : runtime_(context.runtime),
      provider_(std::move(provider)),
      log_(std::move(log)),
      terminated_machines_(context, history, *provider_, log_),
      scope_(runtime_, telemetry::log_errors(log_)) {}

void Reconciler::start() {
  if (provider_->launching() != nullptr)
    scope_.spawn("reconcile " + provider_->config().name(), run());
}

Task<> Reconciler::stop() {
  co_await scope_.stop();
}

// One after the other, so that both use the same listing.
Task<> Reconciler::run() {
  while (true) {
    co_await attempt("terminated machines", terminated_machines_.check());
    co_await attempt("leaked resources", provider_->launching()->remove_leaks());
    co_await runtime_.clock.sleep_for(kInterval);
  }
}

Task<> Reconciler::attempt(std::string what, Task<> work) {
  std::string failure;
  try {
    co_await std::move(work);
  } catch (const async::Cancelled&) {
    throw;
  } catch (const std::exception& error) {
    failure = error.what();
  }
  if (!failure.empty()) log_.warning("Could not check for {}: {}", what, failure);
}

}  // namespace nodepool::launcher
