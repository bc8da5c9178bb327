#include "drivers/openstack/cloud_endpoint.h"

#include <algorithm>

namespace nodepool::drivers::openstack {

CloudEndpoint::CloudEndpoint(const async::Runtime& runtime, Cloud cloud,
                             const PollPolicy& poll_policy, const telemetry::Logger& log)
    : cloud_(std::move(cloud)),
      poll_policy_(poll_policy),
      account_(runtime, cloud_, log, [this](const http::Attempt& attempt) { report(attempt); }),
      api_(runtime, account_, log, [this](const http::Attempt& attempt) { report(attempt); }),
      view_(runtime, api_, cloud_, poll_policy_) {}

CloudEndpoint::Membership CloudEndpoint::join(Member member) {
  members_.emplace(++last_, std::move(member));
  update_spacing();
  return last_;
}

async::Task<> CloudEndpoint::leave(Membership membership) {
  members_.erase(membership);
  if (!members_.empty()) {
    update_spacing();
    co_return;
  }
  closed_ = true;  // a new provider gets a new endpoint
  co_await view_.stop();
  co_await account_.stop();
}

void CloudEndpoint::report(const http::Attempt& attempt) const {
  if (members_.empty()) return;
  const auto& on_attempt = members_.begin()->second.on_attempt;
  if (on_attempt) on_attempt(attempt);
}

void CloudEndpoint::update_spacing() {
  double spacing = 0;
  for (const auto& [membership, member] : members_) spacing = std::max(spacing, member.spacing);
  account_.set_spacing(spacing);
}

}  // namespace nodepool::drivers::openstack
