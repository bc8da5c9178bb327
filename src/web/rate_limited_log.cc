#include "web/rate_limited_log.h"

#include <chrono>
#include <string_view>
#include <utility>

#include "telemetry/log_errors.h"

namespace nodepool::web {

namespace {

constexpr auto kPause = std::chrono::minutes(1);
constexpr std::size_t kMostKinds = 100;
constexpr std::string_view kFurther = "Further warnings";

}  // namespace

RateLimitedLog::RateLimitedLog(const async::Runtime& runtime, const telemetry::Logger& log)
    : runtime_(runtime), log_(log), scope_(runtime, telemetry::log_errors(log)) {}

void RateLimitedLog::warn(const std::string& kind, std::string text) {
  if (kinds_.size() >= kMostKinds && !kinds_.contains(kind) && kind != kFurther) {
    const std::string full = kind + ": " + text;
    return warn(std::string(kFurther), full);
  }
  const auto [known, is_new] = kinds_.try_emplace(kind);
  if (is_new) {
    log_.warning("{}: {}", kind, text);
    scope_.spawn("rate-limited log", follow(kind));
  } else {
    ++known->second.count;
    known->second.last = std::move(text);
  }
}

async::Task<> RateLimitedLog::stop() {
  co_await scope_.stop();
  for (const auto& [kind, repeats] : kinds_) log_repeats(kind, repeats);
  kinds_.clear();
}

async::Task<> RateLimitedLog::follow(std::string kind) {
  Repeats repeats;
  do {
    co_await runtime_.clock.sleep_for(kPause);
    repeats = std::exchange(kinds_.at(kind), Repeats());
    log_repeats(kind, repeats);
  } while (repeats.count > 0);
  kinds_.erase(kind);
}

void RateLimitedLog::log_repeats(const std::string& kind, const Repeats& repeats) const {
  if (repeats.count == 0) return;
  log_.warning("{}: {} times more within a minute; the last: {}", kind, repeats.count,
               repeats.last);
}

}  // namespace nodepool::web
