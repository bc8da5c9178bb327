#include "launcher/provider_quota.h"

#include <algorithm>

#include "async/backoff.h"
#include "telemetry/log_errors.h"

namespace nodepool::launcher {

namespace {

// How long a response stays fresh. Others may use the same cloud.
constexpr auto kFreshness = std::chrono::seconds(300);

// Between attempts while the provider does not respond.
constexpr async::Duration kFirstQuotaPause = std::chrono::seconds(5);
constexpr async::Duration kLongestQuotaPause = std::chrono::seconds(10);

// Longest suspension of launches after a refusal.
constexpr auto kRefusalPause = std::chrono::seconds(60);

// Shortest suspension: what was freed may be the remains of the refused machine.
constexpr auto kShortestRefusal = std::chrono::seconds(5);

// Whether one of the limits is higher than before. What is not limited has no entry.
bool has_grown(const driver::Limits& before, const driver::Limits& after) {
  return std::ranges::any_of(before, [&after](const auto& limit) {
    const auto now = after.find(limit.first);
    return now == after.end() || now->second > limit.second;
  });
}

}  // namespace

ProviderQuota::ProviderQuota(const async::Runtime& runtime,
                             std::shared_ptr<driver::Provider> provider, telemetry::Logger log)
    : runtime_(runtime),
      provider_(std::move(provider)),
      log_(std::move(log)),
      scope_(runtime, telemetry::log_errors(log_)) {
  launches_ended_ = launches_->observe([this] { changes_.notify(); });
  const std::int64_t at_once = provider_->config().max_concurrency();
  if (at_once > 0) launch_slots_.emplace(static_cast<std::size_t>(at_once));
}

void ProviderQuota::start() {
  if (provider_->launching() == nullptr) return;
  wanted_.set();
  scope_.spawn("quota of provider " + provider_->config().name(), keep_fresh());
}

Task<> ProviderQuota::stop() {
  co_await scope_.stop();
}

const std::optional<driver::Limits>& ProviderQuota::available() {
  if (runtime_.clock.now() >= fresh_until_) wanted_.set();
  return available_;
}

void ProviderQuota::refused() {
  fresh_until_ = {};
  wanted_.set();
  refused_at_ = runtime_.clock.now();
  end_refusal_at(refused_at_ + kRefusalPause);
}

void ProviderQuota::capacity_freed() {
  const auto earliest = std::max(runtime_.clock.now(), refused_at_ + kShortestRefusal);
  if (is_refusing() && earliest < refusing_until_) end_refusal_at(earliest);
}

void ProviderQuota::end_refusal_at(async::Clock::TimePoint when) {
  refusing_until_ = when;
  scope_.spawn("refusal of provider " + provider_->config().name(), refresh_at(when));
}

Task<> ProviderQuota::refresh_at(async::Clock::TimePoint when) {
  co_await runtime_.clock.sleep_until(when);
  if (!is_refusing()) changes_.notify();
}

planning::QuotaFacts ProviderQuota::facts() {
  const bool is_stale = provider_->launching() != nullptr && runtime_.clock.now() >= fresh_until_;
  const bool is_first_use = !std::exchange(was_used_, true);
  if (is_stale || is_first_use) wanted_.set();
  return {.available = available_,
          .why_unknown = failure_,
          .is_refusing = is_refusing(),
          .is_stale = is_stale,
          .launches_under_way = launches_->under_way()};
}

Task<std::optional<async::Slots::Hold>> ProviderQuota::launch_slot() {
  if (!launch_slots_) co_return std::nullopt;
  co_return co_await launch_slots_->take();
}

Task<> ProviderQuota::keep_fresh() {
  async::Backoff backoff(kFirstQuotaPause, kLongestQuotaPause);
  while (true) {
    // What others use has no events: a request that waits for it is decided again.
    if (was_used_) {
      co_await wanted_.wait_until(runtime_.clock, fresh_until_);
    } else {
      co_await wanted_.wait();
    }
    if (runtime_.clock.now() < fresh_until_) continue;
    co_await query();
    if (failure_.empty()) {
      backoff.reset();
      continue;
    }
    log_.warning("Could not query the quota of the provider: {}", failure_);
    changes_.notify();
    co_await runtime_.clock.sleep_for(backoff.failed());
    // Retries even if no decision waits, as the failure is shown as a problem.
    wanted_.set();
  }
}

Task<bool> ProviderQuota::responds() {
  if (failure_.empty()) co_await query();
  if (failure_.empty()) co_return true;
  fresh_until_ = {};
  wanted_.set();  // keep_fresh() retries
  co_return false;
}

// Keeps the previous limits if the query fails.
Task<> ProviderQuota::query() {
  std::optional<driver::Limits> limits;
  try {
    limits = co_await provider_->available();
    failure_.clear();
  } catch (const async::Cancelled&) {
    throw;
  } catch (const std::exception& error) {
    failure_ = error.what();
  }
  responses_.notify();
  if (!limits) co_return;
  fresh_until_ = runtime_.clock.now() + kFreshness;
  const bool is_awaited = std::exchange(was_used_, false);  // perhaps only since it was sent
  const bool has_changed = limits != available_;
  const bool allows_more = !available_ || has_grown(*available_, *limits);
  available_ = std::move(limits);
  if (allows_more) capacity_freed();
  if (has_changed || is_awaited) changes_.notify();
}

}  // namespace nodepool::launcher
