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

// One account in one region of a cloud. Its providers share the token, the rate limit and the
// listings.
class CloudEndpoint {
 public:
  // A provider that uses the endpoint.
  struct Member {
    double spacing = 0;                 // minimum seconds between two calls of one service
    http::Client::Observer on_attempt;  // for shared calls
  };
  using Membership = std::uint64_t;

  CloudEndpoint(const async::Runtime& runtime, Cloud cloud, const PollPolicy& poll_policy,
                const telemetry::Logger& log);

  // Whether it has the same credentials, region, services and networks, and is still in use.
  bool is_of(const Cloud& cloud) const { return !closed_ && cloud == cloud_; }

  // Adds a provider. The largest spacing of all members applies. Shared calls are reported to the
  // oldest member.
  Membership join(Member member);

  // Removes a provider, after its last call.
  async::Task<> leave(Membership membership);

  CloudAccount& account() { return account_; }
  CloudView& view() { return view_; }
  const PollPolicy& poll_policy() const { return poll_policy_; }

 private:
  void report(const http::Attempt& attempt) const;
  void update_spacing();

  Cloud cloud_;
  PollPolicy poll_policy_;
  std::map<Membership, Member> members_;
  Membership last_ = 0;
  bool closed_ = false;
  CloudAccount account_;
  CloudApi api_;  // for listings
  CloudView view_;
};

}  // namespace nodepool::drivers::openstack
