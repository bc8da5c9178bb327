#pragma once

#include "async/runtime.h"
#include "async/thread_pool.h"
#include "cloud/endpoints.h"
#include "drivers/aws/account/account.h"
#include "drivers/aws/api/caller.h"
#include "drivers/aws/cloud_view.h"
#include "drivers/aws/terminator.h"
#include "telemetry/log.h"

namespace nodepool::drivers::aws {

// One account in one region. Its providers share the credentials, the rate limit of mutating calls,
// the listings, and the batched calls that terminate instances.
class CloudEndpoint final : public cloud::Endpoint {
 public:
  // `threads` outlives it.
  CloudEndpoint(const async::Runtime& runtime, Account account, async::ThreadPool& threads,
                const telemetry::Logger& log);

  // Whether it has the same credentials, region and endpoints, and is still in use.
  bool is_of(const Account& account) const { return !is_closed() && account == account_; }

  AccountState& state() { return state_; }
  CloudView& view() { return view_; }
  Terminator& terminator() { return terminator_; }

 private:
  void set_rate(double rate) override { state_.set_rate(rate); }
  async::Task<> stop() override;

  Account account_;
  AccountState state_;
  Caller caller_;
  Ec2 ec2_;
  ServiceQuotas quotas_;
  CloudView view_;
  Terminator terminator_;
};

}  // namespace nodepool::drivers::aws
