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

// One account in one region. The providers that use it share its credentials, the pace of its
// calls, what is listed, and the calls that end machines.
class CloudEndpoint {
 public:
  // A provider that uses it.
  struct Member {
    double rate = 0;                    // calls a second that change something; 0: no limit
    http::Client::Observer on_attempt;  // of calls that nobody makes for himself alone
  };
  using Membership = std::uint64_t;

  // `threads` outlive it.
  CloudEndpoint(const async::Runtime& runtime, Account account, const PollPolicy& poll_policy,
                async::ThreadPool& threads, const telemetry::Logger& log);

  // The same credentials, region and endpoints, and somebody uses it yet.
  bool is_of(const Account& account) const { return !closed_ && account == account_; }

  // The least rate that a member wants is kept to by all. The calls that are made for all are told
  // to the member that has been here longest.
  Membership join(Member member);

  // After the member's last call.
  async::Task<> leave(Membership membership);

  AccountState& state() { return state_; }
  CloudView& view() { return view_; }
  Terminator& terminator() { return terminator_; }
  const PollPolicy& poll_policy() const { return poll_policy_; }

 private:
  void tell(const http::Attempt& attempt) const;
  void set_rate();

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
