#pragma once

#include <cstdint>
#include <map>

#include "async/runtime.h"
#include "async/thread_pool.h"
#include "drivers/aws/account/account.h"
#include "drivers/aws/api/caller.h"
#include "drivers/aws/cloud_view.h"
#include "drivers/aws/poll_policy.h"
#include "drivers/aws/terminator.h"
#include "http/client.h"
#include "telemetry/log.h"

namespace nodepool::drivers::aws {

// One account in one region. Its providers share the credentials, the rate limit, the listings, and
// the batched calls that terminate instances.
class CloudEndpoint {
 public:
  // A provider that uses the endpoint.
  struct Member {
    double rate = 0;                    // mutating calls a second; 0: no limit
    http::Client::Observer on_attempt;  // for shared calls
  };
  using Membership = std::uint64_t;

  // `threads` outlives it.
  CloudEndpoint(const async::Runtime& runtime, Account account, const PollPolicy& poll_policy,
                async::ThreadPool& threads, const telemetry::Logger& log);

  // Whether it has the same credentials, region and endpoints, and is still in use.
  bool is_of(const Account& account) const { return !closed_ && account == account_; }

  // Adds a provider. The lowest rate of all members applies. Shared calls are reported to the
  // oldest member.
  Membership join(Member member);

  // Removes a provider, after its last call.
  async::Task<> leave(Membership membership);

  AccountState& state() { return state_; }
  CloudView& view() { return view_; }
  Terminator& terminator() { return terminator_; }
  const PollPolicy& poll_policy() const { return poll_policy_; }

 private:
  void report(const http::Attempt& attempt) const;
  void update_rate();

  Account account_;
  PollPolicy poll_policy_;
  std::map<Membership, Member> members_;
  Membership last_ = 0;
  bool closed_ = false;
  AccountState state_;
  Caller caller_;
  Ec2 ec2_;
  ServiceQuotas quotas_;
  CloudView view_;
  Terminator terminator_;
};

}  // namespace nodepool::drivers::aws
