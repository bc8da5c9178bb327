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
  if (provider_->launching() == nullptr) return;
  const std::string& name = provider_->config().name();
  const auto check = [this] { return terminated_machines_.check(); };
  scope_.spawn("check machines of " + name, repeat("terminated machines", check));
  const auto remove_leaks = [this] { return provider_->launching()->remove_leaks(); };
  scope_.spawn("delete leaks of " + name, repeat("leaked resources", remove_leaks));
}

Task<> Reconciler::stop() {
  co_await scope_.stop();
}

// The kinds of work do not wait for each other: the deletion of a leak may take minutes. They begin
// at the same times, so that they use the same listing.
Task<> Reconciler::repeat(std::string what, std::function<Task<>()> work) {
  async::Clock::TimePoint due = runtime_.clock.now();
  while (true) {
    co_await attempt(what, work());
    while (due <= runtime_.clock.now()) due += kInterval;
    co_await runtime_.clock.sleep_until(due);
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
