#pragma once

#include <map>
#include <memory>

#include "async/runtime.h"
#include "drivers/openstack/api/catalog.h"
#include "drivers/openstack/api/compute.h"
#include "drivers/openstack/api/identity.h"
#include "drivers/openstack/api/image.h"
#include "drivers/openstack/api/network.h"
#include "drivers/openstack/api/volume.h"
#include "drivers/openstack/clouds/cloud.h"
#include "http/client.h"
#include "http/rate_governor.h"
#include "http/rate_limit.h"
#include "telemetry/log.h"

namespace nodepool::drivers::openstack {

// What all calls of one account share: the token, and a rate limit for each service.
class CloudAccount {
 public:
  // `cloud` outlives it. `on_attempt` is called for every attempt to get a token.
  CloudAccount(const async::Runtime& runtime, const Cloud& cloud, const telemetry::Logger& log,
               const http::Client::Observer& on_attempt);

  // The calls of one service a second; 0: no limit.
  void set_rate(double calls_per_second);

  const Cloud& cloud() const { return cloud_; }
  Identity& identity() { return identity_; }
  http::RateLimit& rate_limit(ServiceKind service) { return rate_limits_.at(service); }

  // Call it after the last call.
  async::Task<> stop() { return identity_.stop(); }

 private:
  const Cloud& cloud_;
  std::map<ServiceKind, http::RateGovernor> rate_limits_;
  http::RateGovernor identity_rate_limit_;
  Identity identity_;
};

// All APIs of one account.
class CloudApi {
 public:
  // `account` outlives it. `on_attempt` is called for every attempt of a call.
  CloudApi(const async::Runtime& runtime, CloudAccount& account, const telemetry::Logger& log,
           const http::Client::Observer& on_attempt);
  ~CloudApi();

  Compute& compute() { return compute_; }
  NetworkApi& network() { return network_; }
  ImageApi& image() { return image_; }
  VolumeApi& volume() { return volume_; }

  // Whether the cloud has the service. Throw CloudError.
  async::Task<bool> has_network();
  async::Task<bool> has_volume();

 private:
  struct Services;

  std::unique_ptr<Services> services_;
  Compute compute_;
  NetworkApi network_;
  ImageApi image_;
  VolumeApi volume_;
};

}  // namespace nodepool::drivers::openstack
