#pragma once

#include <chrono>
#include <exception>
#include <memory>
#include <string_view>
#include <utility>

#include "async/runtime.h"
#include "async/shared_result.h"
#include "telemetry/log.h"

namespace nodepool::cloud {

// The lifetime of a token.
struct TokenLife {
  // When to request a new one, early enough for calls that have just begun.
  async::Clock::TimePoint renew_at = async::Clock::TimePoint::max();
  // When it expires: used until then if no new one can be obtained.
  async::Clock::TimePoint ends_at = async::Clock::TimePoint::max();
};

// The lifetime of a token that was requested at `asked_at`; at most ten years. Takes a duration
// because the clocks of the cloud and this host may differ.
TokenLife token_life(async::Clock::TimePoint asked_at, std::chrono::duration<double> duration);

// Caches the token that all calls of an account share. Requests it when first needed, before it
// expires, and after it was refused. While that fails, uses the old token until it expires. `Token`
// has a member `life`. Never log it.
template <typename Token>
class TokenCache {
 public:
  using Pointer = std::shared_ptr<const Token>;
  using Ask = typename async::SharedResult<Token>::Ask;

  // `name` is for stack dumps and messages; a literal.
  TokenCache(const async::Runtime& runtime, std::string_view name, telemetry::Logger log, Ask ask)
      : runtime_(runtime),
        name_(name),
        log_(std::move(log)),
        answer_(runtime, name, std::move(ask)) {}

  // A token that has not expired. Throws what `ask` throws, if there is none.
  async::Task<Pointer> get() {
    const auto begun = runtime_.clock.now();
    if (current_ && begun < current_->life.renew_at) co_return current_;
    if (current_ && begun < ask_again_at_ && begun < current_->life.ends_at) co_return current_;
    if (current_) answer_.drop();
    try {
      current_ = co_await answer_.get(kUntilRefused);
    } catch (const async::Cancelled&) {
      throw;
    } catch (const std::exception& error) {
      const auto now = runtime_.clock.now();
      if (!current_ || now >= current_->life.ends_at) throw;
      if (now >= ask_again_at_) {
        log_.warning("Error renewing {}, using the old one until it expires: {}", name_,
                     error.what());
        ask_again_at_ = now + kPause;
      }
    }
    co_return current_;
  }

  // The cloud has refused the token: the next get() requests a new one.
  void refused(const Pointer& token) {
    if (!token || token != current_) return;
    answer_.drop();
    current_.reset();
  }

  // Call it after the last get() has returned.
  async::Task<> stop() { return answer_.stop(); }

 private:
  static constexpr auto kUntilRefused = std::chrono::hours(24 * 365);
  static constexpr auto kPause = std::chrono::seconds(30);  // between failed renewals

  async::Runtime runtime_;
  std::string_view name_;
  telemetry::Logger log_;
  async::SharedResult<Token> answer_;
  Pointer current_;
  async::Clock::TimePoint ask_again_at_ = async::Clock::TimePoint::min();
};

}  // namespace nodepool::cloud
