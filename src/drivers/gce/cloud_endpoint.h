#pragma once

#include "async/runtime.h"
#include "cloud/endpoints.h"
#include "drivers/gce/cloud_view.h"
#include "drivers/gce/pausing_rate_limit.h"
#include "telemetry/log.h"

namespace nodepool::drivers::gce {

// One zone of a project. Its providers share the token, the rate limit and the listings.
class CloudEndpoint final : public cloud::Endpoint {
 public:
  CloudEndpoint(const async::Runtime& runtime, Account account, const telemetry::Logger& log)
      : account_(std::move(account)),
        rate_limit_(runtime.clock),
        tokens_(runtime, account_.credentials, log, observer()),
        compute_(runtime, account_, tokens_, rate_limit_, log, observer()),
        view_(runtime, account_, compute_) {}

  // Whether it has the same credentials, zone and endpoint, and is still in use.
  bool is_of(const Account& account) const { return !is_closed() && account == account_; }

  const Account& account() const { return account_; }
  PausingRateLimit& rate_limit() { return rate_limit_; }
  AccessTokens& tokens() { return tokens_; }
  CloudView& view() { return view_; }

 private:
  void set_rate(double rate) override { rate_limit_.set_rate(rate); }
  async::Task<> stop() override {
    co_await view_.stop();
    co_await tokens_.stop();
  }

  Account account_;
  PausingRateLimit rate_limit_;
  AccessTokens tokens_;
  ComputeEngine compute_;  // for listings
  CloudView view_;
};

}  // namespace nodepool::drivers::gce
