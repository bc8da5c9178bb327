#pragma once

#include <chrono>
#include <memory>
#include <string_view>
#include <utility>

#include "async/runtime.h"
#include "async/shared_answer.h"

namespace nodepool::cloud {

// When a token that was asked for at `asked_at` and lives so long is to be renewed: a call that has
// just begun has to get through with it. Its life counts, not its end: the clocks need not agree.
async::Clock::TimePoint renewal_time(async::Clock::TimePoint asked_at,
                                     std::chrono::duration<double> life);

// The token that all calls of an account use: asked for when one is needed, and anew before it
// expires or once it is refused. `Token` has a member `renew_at`. Never to be logged.
template <typename Token>
class TokenCache {
 public:
  using Pointer = std::shared_ptr<const Token>;
  using Ask = typename async::SharedAnswer<Token>::Ask;

  // `name` is for stack dumps; a literal.
  TokenCache(const async::Runtime& runtime, std::string_view name, Ask ask)
      : runtime_(runtime), answer_(runtime, name, std::move(ask)) {}

  // One that is good for some time yet. Throws what asking throws.
  async::Task<Pointer> get() {
    if (current_ && current_->renew_at <= runtime_.clock.now()) refused(current_);
    current_ = co_await answer_.get(kUntilRefused);
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

  async::Runtime runtime_;
  async::SharedAnswer<Token> answer_;
  Pointer current_;
};

}  // namespace nodepool::cloud
