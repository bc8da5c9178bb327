#include "drivers/aws/cloud_endpoint.h"

#include <algorithm>

namespace nodepool::drivers::aws {

CloudEndpoint::CloudEndpoint(const async::Runtime& runtime, Account account,
                             const PollPolicy& poll_policy, async::ThreadPool& threads,
                             const telemetry::Logger& log)
    : account_(std::move(account)),
      poll_policy_(poll_policy),
      state_(runtime, account_, threads, log,
             [this](const http::Attempt& attempt) { report(attempt); }),
      caller_(runtime, state_, log, [this](const http::Attempt& attempt) { report(attempt); }),
      ec2_(caller_),
      quotas_(caller_),
      view_(runtime, ec2_, quotas_, poll_policy_),
      terminator_(runtime, ec2_) {}

CloudEndpoint::Membership CloudEndpoint::join(Member member) {
  members_.emplace(++last_, std::move(member));
  update_rate();
  return last_;
}

async::Task<> CloudEndpoint::leave(Membership membership) {
  members_.erase(membership);
  if (!members_.empty()) {
    update_rate();
    co_return;
  }
  closed_ = true;  // a new provider gets a new endpoint
  co_await terminator_.stop();
  co_await view_.stop();
  co_await state_.stop();
}

void CloudEndpoint::report(const http::Attempt& attempt) const {
  if (members_.empty()) return;
  const auto& on_attempt = members_.begin()->second.on_attempt;
  if (on_attempt) on_attempt(attempt);
}

void CloudEndpoint::update_rate() {
  double rate = 0;
  for (const auto& [membership, member] : members_) {
    if (member.rate > 0) rate = rate > 0 ? std::min(rate, member.rate) : member.rate;
  }
  state_.set_rate(rate);
}

}  // namespace nodepool::drivers::aws
