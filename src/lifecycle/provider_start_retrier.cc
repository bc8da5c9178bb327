#include "lifecycle/provider_start_retrier.h"

#include <algorithm>

#include "telemetry/log_errors.h"

namespace nodepool::lifecycle {

namespace {

// Between two attempts; each pause is twice the previous one.
constexpr async::Duration kFirstStartPause = std::chrono::seconds(5);
constexpr async::Duration kLongestStartPause = std::chrono::minutes(5);

}  // namespace

ProviderStartRetrier::ProviderStartRetrier(const async::Runtime& runtime, telemetry::Logger log)
    : runtime_(runtime), log_(std::move(log)) {}

void ProviderStartRetrier::failed(const std::string& provider, const std::string& reason) {
  std::string& known = failures_[provider];
  if (known != reason) log_.error("Error starting provider {}, retrying: {}", provider, reason);
  known = reason;
}

void ProviderStartRetrier::succeeded(const std::string& provider) {
  if (failures_.erase(provider) > 0)
    log_.info("Provider {} started after earlier failures", provider);
}

void ProviderStartRetrier::begin(Start start) {
  scope_ = std::make_unique<async::TaskScope>(runtime_, telemetry::log_errors(log_));
  scope_->spawn("retry starting providers", run(std::move(start)));
}

async::Task<> ProviderStartRetrier::stop() {
  if (scope_) co_await scope_->stop();
  scope_.reset();
}

async::Task<> ProviderStartRetrier::run(Start start) {
  async::Duration pause = kFirstStartPause;
  bool complete = false;
  while (!complete) {
    co_await runtime_.clock.sleep_for(pause);
    pause = std::min(2 * pause, kLongestStartPause);
    complete = co_await start();
  }
}

}  // namespace nodepool::lifecycle
