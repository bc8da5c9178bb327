#pragma once

#include <cstdint>
#include <map>

#include "async/runtime.h"
#include "drivers/openstack/api/cloud_api.h"
#include "drivers/openstack/cloud_view.h"
#include "drivers/openstack/clouds/cloud.h"
#include "drivers/openstack/poll_policy.h"
#include "http/client.h"
#include "telemetry/log.h"

namespace nodepool::drivers::openstack {

// One account in one region of a cloud. The providers that use it share its token, the pace of its
// calls, and what is listed.
class CloudEndpoint {
 public:
  // A provider that uses it.
  struct Member {
    double spacing = 0;                 // the least seconds between two calls of one service
    http::Client::Observer on_attempt;  // of calls that nobody makes for himself alone
  };
  using Membership = std::uint64_t;

  CloudEndpoint(const async::Runtime& runtime, Cloud cloud, const PollPolicy& poll_policy,
                const telemetry::Logger& log);

  // The same credentials, region, services and networks, and somebody uses it yet.
  bool is_of(const Cloud& cloud) const { return !closed_ && cloud == cloud_; }

  // The largest spacing that a member wants is kept to by all. The calls that are made for all are
  // told to the member that has been here longest.
  Membership join(Member member);

  // After the member's last call.
  async::Task<> leave(Membership membership);

  CloudAccount& account() { return account_; }
  CloudView& view() { return view_; }
  const PollPolicy& poll_policy() const { return pace_; }

 private:
  void tell(const http::Attempt& attempt) const;
  void space_calls();

  Cloud cloud_;
  PollPolicy pace_;
  std::map<Membership, Member> members_;
  Membership last_ = 0;
  bool closed_ = false;
  CloudAccount account_;
  CloudApi api_;  // for what is listed
  CloudView view_;
};

}  // namespace nodepool::drivers::openstack
