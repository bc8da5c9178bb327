#pragma once

#include "async/runtime.h"
#include "cloud/endpoints.h"
#include "drivers/ibmvpc/cloud_view.h"
#include "http/rate_governor.h"
#include "telemetry/log.h"

namespace nodepool::drivers::ibmvpc {

// A region of an account. Its providers share the token, the rate limit and the listings.
class CloudEndpoint final : public cloud::Endpoint {
 public:
  CloudEndpoint(const async::Runtime& runtime, VpcAccount account, const telemetry::Logger& log)
      : account_(std::move(account)),
        rate_limit_(runtime.clock, 0),
        tokens_(runtime, account_.credentials, log, observer()),
        api_(runtime, account_, tokens_, rate_limit_, log, observer()),
        view_(runtime, api_) {}

  // Whether it has the same credentials, region and URLs, and is still in use.
  bool is_of(const VpcAccount& account) const { return !is_closed() && account == account_; }

  const VpcAccount& account() const { return account_; }
  http::RateGovernor& rate_limit() { return rate_limit_; }
  IamTokens& tokens() { return tokens_; }
  CloudView& view() { return view_; }

 private:
  void set_rate(double rate) override { rate_limit_.set_rate(rate); }
  async::Task<> stop() override {
    co_await view_.stop();
    co_await tokens_.stop();
  }

  VpcAccount account_;
  http::RateGovernor rate_limit_;
  IamTokens tokens_;
  VpcApi api_;  // for listings
  CloudView view_;
};

}  // namespace nodepool::drivers::ibmvpc
