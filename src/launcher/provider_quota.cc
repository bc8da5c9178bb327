#include "launcher/provider_quota.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include "async/backoff.h"
#include "telemetry/log_errors.h"

namespace nodepool::launcher {

namespace {

// How long a response stays fresh. Others may use the same cloud.
constexpr auto kFreshness = std::chrono::seconds(300);

// Between attempts while the provider does not respond.
constexpr async::Duration kFirstQuotaPause = std::chrono::seconds(5);
constexpr async::Duration kLongestQuotaPause = std::chrono::seconds(10);

// Whether one of the limits is higher than before. What is not limited has no entry.
bool has_grown(const driver::Limits& before, const driver::Limits& after) {
  return std::ranges::any_of(before, [&after](const auto& limit) {
    const auto now = after.find(limit.first);
    return now == after.end() || now->second > limit.second;
  });
}

}  // namespace

ProviderQuota::ProviderQuota(const async::Runtime& runtime,
                             std::shared_ptr<driver::Provider> provider, telemetry::Logger log,
                             std::shared_ptr<ProviderLaunches> launches)
    : runtime_(runtime),
      provider_(std::move(provider)),
      log_(std::move(log)),
      launches_(std::move(launches)),
      scope_(runtime, telemetry::log_errors(log_)) {
  launches_ended_ = launches_->count.observe([this] { changes_.notify(); });
  refusals_ = launches_->refusals.observe([this] {
    suspensions_changed_.set();
    if (!is_fresh()) wanted_.set();
  });
  const std::int64_t at_once = provider_->config().max_concurrency();
  if (at_once == 0) return;  // accepts nothing; launches in progress keep their limit
  launches_->slots.resize(at_once > 0 ? static_cast<std::size_t>(at_once)
                                      : async::Slots::kUnlimited);
}

void ProviderQuota::start() {
  if (provider_->launching() == nullptr) return;
  wanted_.set();
  const std::string& name = provider_->config().name();
  scope_.spawn("quota of provider " + name, keep_fresh());
  scope_.spawn("refusals of provider " + name, follow_suspensions());
}

Task<> ProviderQuota::stop() {
  co_await scope_.stop();
}

const std::optional<driver::Limits>& ProviderQuota::available() {
  if (!is_fresh()) wanted_.set();
  return available_;
}

// A refusal shows that the limits are not what they were.
bool ProviderQuota::is_fresh() const {
  return runtime_.clock.now() < fresh_until_ && known_refusals_ == launches_->refusals.count();
}

void ProviderQuota::refused(const PoolLabel& label) {
  launches_->refusals.refused(label, runtime_.clock.now());
}

void ProviderQuota::begin_launches(const PoolLabel& label) {
  launches_->refusals.begin(label, runtime_.clock.now());
}

void ProviderQuota::capacity_freed() {
  launches_->refusals.capacity_freed(runtime_.clock.now());
}

Task<> ProviderQuota::follow_suspensions() {
  std::set<PoolLabel> suspended;
  while (true) {
    const auto now = runtime_.clock.now();
    auto before = std::exchange(suspended, launches_->refusals.suspended(now));
    if (suspended != before) changes_.notify();
    const auto next_end = launches_->refusals.next_end(now);
    if (next_end) {
      co_await suspensions_changed_.wait_until(runtime_.clock, *next_end);
    } else {
      co_await suspensions_changed_.wait();
    }
  }
}

planning::QuotaFacts ProviderQuota::facts() {
  const bool is_stale = provider_->launching() != nullptr && !is_fresh();
  const bool is_first_use = !std::exchange(was_used_, true);
  if (is_stale || is_first_use) wanted_.set();
  return {.available = available_,
          .why_unknown = failure_,
          .refused = launches_->refusals.suspended(runtime_.clock.now()),
          .is_stale = is_stale,
          .launches_under_way = launches_->count.under_way()};
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
    if (is_fresh()) continue;
    co_await next_response();
    if (failure_.empty()) {
      backoff.reset();
      if (!is_fresh()) wanted_.set();  // it was sent before a refusal, or cancelled
      continue;
    }
    changes_.notify();
    co_await runtime_.clock.sleep_for(backoff.failed());
    // Retries even if no decision waits, as the failure is shown as a problem.
    wanted_.set();
  }
}

Task<bool> ProviderQuota::responds(std::int64_t seen) {
  while (failure_.empty() && answered_ <= seen) co_await next_response();
  if (failure_.empty()) co_return true;
  fresh_until_ = {};
  wanted_.set();  // keep_fresh() retries
  co_return false;
}

// Returns when the query in flight, or else a new one, has ended.
Task<> ProviderQuota::next_response() {
  if (!is_querying_) co_return co_await query();
  const std::int64_t in_flight = queries_;
  while (is_querying_ && queries_ == in_flight) co_await query_ended_.wait();
}

// Keeps the previous limits if the query fails. Not during another query. Outages last for hours:
// only their first failure and their end are logged.
Task<> ProviderQuota::query() {
  const std::int64_t number = ++queries_;
  const std::int64_t refusals = launches_->refusals.count();
  std::optional<driver::Limits> limits;
  is_querying_ = true;
  try {
    limits = co_await provider_->available();
    if (!std::exchange(failure_, {}).empty()) log_.info("The quota of the provider is known again");
  } catch (const async::Cancelled&) {
    is_querying_ = false;
    query_ended_.set();
    throw;
  } catch (const std::exception& error) {
    constexpr std::string_view kWhat = "Could not query the quota of the provider, retrying";
    if (failure_.empty()) {
      log_.warning("{}: {}", kWhat, error.what());
    } else {
      log_.debug("{}: {}", kWhat, error.what());
    }
    failure_ = error.what();
  }
  is_querying_ = false;
  answered_ = number;
  query_ended_.set();
  responses_.notify();
  if (!limits) co_return;
  known_refusals_ = refusals;
  fresh_until_ = runtime_.clock.now() + kFreshness;
  const bool is_awaited = std::exchange(was_used_, false);  // perhaps only since it was sent
  const bool has_changed = limits != available_;
  const bool allows_more = available_ && has_grown(*available_, *limits);
  available_ = std::move(limits);
  if (allows_more) capacity_freed();
  if (has_changed || is_awaited) changes_.notify();
}

}  // namespace nodepool::launcher
