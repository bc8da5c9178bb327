#pragma once

#include <chrono>
#include <exception>
#include <memory>
#include <string_view>
#include <utility>

#include "async/runtime.h"
#include "async/shared_answer.h"
#include "telemetry/log.h"

namespace nodepool::cloud {

// How long a token is used.
struct TokenLife {
  // From then on another one is asked for: a call that has just begun has to get through with it.
  async::Clock::TimePoint renew_at = async::Clock::TimePoint::max();
  // Until then it is used where no other one can be had.
  async::Clock::TimePoint ends_at = async::Clock::TimePoint::max();
};

// The life of a token that was asked for at `asked_at` and lasts so long; ten years at most, which
// every clock can count. The duration counts, not its end: the clocks need not agree.
TokenLife token_life(async::Clock::TimePoint asked_at, std::chrono::duration<double> duration);

// The token that all calls of an account use: asked for when one is needed, and anew before it
// expires or once it is refused. While none can be had, the old one is used until it expires.
// `Token` has a member `life`. Never to be logged.
template <typename Token>
class TokenCache {
 public:
  using Pointer = std::shared_ptr<const Token>;
  using Ask = typename async::SharedAnswer<Token>::Ask;

  // `name` is for stack dumps and messages; a literal.
  TokenCache(const async::Runtime& runtime, std::string_view name, telemetry::Logger log, Ask ask)
      : runtime_(runtime),
        name_(name),
        log_(std::move(log)),
        answer_(runtime, name, std::move(ask)) {}

  // One that has not expired. Throws what asking throws, if there is none.
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
        log_.warning("No new {} for now, the old one is used until it expires: {}", name_,
                     error.what());
        ask_again_at_ = now + kPause;
      }
    }
    co_return current_;
  }

  // It has not been accepted: the next get() asks for another one.
  void refused(const Pointer& token) {
    if (!token || token != current_) return;
    answer_.drop();
    current_.reset();
  }

  // After the last call.
  async::Task<> stop() { return answer_.stop(); }

 private:
  static constexpr auto kUntilRefused = std::chrono::hours(24 * 365);
  static constexpr auto kPause = std::chrono::seconds(30);  // between failed renewals

  async::Runtime runtime_;
  std::string_view name_;
  telemetry::Logger log_;
  async::SharedAnswer<Token> answer_;
  Pointer current_;
  async::Clock::TimePoint ask_again_at_ = async::Clock::TimePoint::min();
};

}  // namespace nodepool::cloud
