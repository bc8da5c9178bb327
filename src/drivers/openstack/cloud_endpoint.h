#pragma once

#include "async/runtime.h"
#include "async/thread_pool.h"
#include "cloud/endpoints.h"
#include "drivers/openstack/api/cloud_api.h"
#include "drivers/openstack/cloud_view.h"
#include "drivers/openstack/clouds/cloud.h"
#include "drivers/openstack/poll_policy.h"
#include "telemetry/log.h"

namespace nodepool::drivers::openstack {

// One account in one region of a cloud. Its providers share the token, the rate limit of each
// service, and the listings.
class CloudEndpoint final : public cloud::Endpoint {
 public:
  CloudEndpoint(const async::Runtime& runtime, Cloud cloud, async::ThreadPool& threads,
                const telemetry::Logger& log, const PollPolicy& poll_policy = {});

  // Whether it has the same credentials, region, services and networks, and is still in use.
  bool is_of(const Cloud& cloud) const { return !is_closed() && cloud == cloud_; }

  CloudAccount& account() { return account_; }
  CloudView& view() { return view_; }
  const PollPolicy& poll_policy() const { return poll_policy_; }

 private:
  void set_rate(double rate) override { account_.set_rate(rate); }
  async::Task<> stop() override;

  Cloud cloud_;
  PollPolicy poll_policy_;
  CloudAccount account_;
  CloudApi api_;  // for listings
  CloudView view_;
};

}  // namespace nodepool::drivers::openstack
