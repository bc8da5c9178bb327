#pragma once

#include <utility>

#include "async/runtime.h"
#include "async/thread_pool.h"
#include "cloud/endpoints.h"
#include "telemetry/log.h"

namespace nodepool::cloud {

// The endpoint of an account whose calls have bearer tokens. Its providers share the token, the
// rate limit and the listings. `Tokens` is derived from BearerTokens, `RateLimit` from
// http::RateLimit; `Api` makes the calls, and `View` has the listings.
template <typename Account, typename RateLimit, typename Tokens, typename Api, typename View>
class TokenEndpoint final : public Endpoint {
 public:
  TokenEndpoint(const async::Runtime& runtime, Account account, async::ThreadPool& /*threads*/,
                const telemetry::Logger& log)
      : account_(std::move(account)),
        rate_limit_(runtime.clock),
        tokens_(runtime, account_, log, observer()),
        api_(runtime, account_, tokens_, rate_limit_, log, observer()),
        view_(runtime, api_) {}

  // Whether it is of this account, and still in use.
  bool is_of(const Account& account) const { return !is_closed() && account == account_; }

  const Account& account() const { return account_; }
  RateLimit& rate_limit() { return rate_limit_; }
  Tokens& tokens() { return tokens_; }
  View& view() { return view_; }

 private:
  void set_rate(double rate) override { rate_limit_.set_rate(rate); }
  async::Task<> stop() override {
    co_await view_.stop();
    co_await tokens_.stop();
  }

  Account account_;
  RateLimit rate_limit_;
  Tokens tokens_;
  Api api_;  // for listings
  View view_;
};

}  // namespace nodepool::cloud
