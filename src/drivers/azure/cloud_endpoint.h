#pragma once

#include "async/runtime.h"
#include "cloud/endpoints.h"
#include "drivers/azure/cloud_view.h"
#include "telemetry/log.h"

namespace nodepool::drivers::azure {

// One resource group. Its providers share the token, the rate limit and the listings.
class CloudEndpoint final : public cloud::Endpoint {
 public:
  CloudEndpoint(const async::Runtime& runtime, AzureAccount account, const telemetry::Logger& log)
      : account_(std::move(account)),
        rate_limit_(runtime.clock),
        tokens_(runtime, account_.subscription.credentials, log, observer()),
        manager_(runtime, account_, tokens_, rate_limit_, log, observer()),
        view_(runtime, manager_) {}

  // Whether it has the same credentials, group and location, and is still in use.
  bool is_of(const AzureAccount& account) const { return !is_closed() && account == account_; }

  const AzureAccount& account() const { return account_; }
  ArmRateLimit& rate_limit() { return rate_limit_; }
  ArmTokens& tokens() { return tokens_; }
  CloudView& view() { return view_; }

 private:
  void set_rate(double rate) override { rate_limit_.set_rate(rate); }
  async::Task<> stop() override {
    co_await view_.stop();
    co_await tokens_.stop();
  }

  AzureAccount account_;
  ArmRateLimit rate_limit_;
  ArmTokens tokens_;
  ResourceManager manager_;  // for listings
  CloudView view_;
};

}  // namespace nodepool::drivers::azure
