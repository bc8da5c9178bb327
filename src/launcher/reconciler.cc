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
// at the same times, so that they use the same listing. Outages last for hours: only their first
// failure and their end are logged.
Task<> Reconciler::repeat(std::string what, std::function<Task<>()> work) {
  async::Clock::TimePoint due = runtime_.clock.now();
  bool is_failing = false;
  while (true) {
    const bool has_succeeded = co_await attempt(what, work(), is_failing);
    if (has_succeeded && is_failing) log_.info("The check for {} works again", what);
    is_failing = !has_succeeded;
    while (due <= runtime_.clock.now()) due += kInterval;
    co_await runtime_.clock.sleep_until(due);
  }
}

Task<bool> Reconciler::attempt(std::string what, Task<> work, bool was_failing) {
  try {
    co_await std::move(work);
  } catch (const async::Cancelled&) {
    throw;
  } catch (const std::exception& error) {
    if (was_failing) {
      log_.debug("Could not check for {}: {}", what, error.what());
    } else {
      log_.warning("Could not check for {}, retrying: {}", what, error.what());
    }
    co_return false;
  }
  co_return true;
}

}  // namespace nodepool::launcher
