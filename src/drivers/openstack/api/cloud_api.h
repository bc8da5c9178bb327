#pragma once

#include <memory>

#include "async/runtime.h"
#include "drivers/openstack/api/compute.h"
#include "drivers/openstack/api/image.h"
#include "drivers/openstack/api/network.h"
#include "drivers/openstack/api/volume.h"
#include "drivers/openstack/clouds/cloud.h"
#include "http/client.h"
#include "telemetry/log.h"

namespace nodepool::drivers::openstack {

// All APIs of one cloud, with one token.
class CloudApi {
 public:
  // `spacing`: the least time between two calls of one service, in seconds; 0: none. `cloud`
  // outlives it. `on_attempt` is told of every attempt at a call.
  CloudApi(const async::Runtime& runtime, const Cloud& cloud, double spacing,
           const telemetry::Logger& log, const http::Client::Observer& on_attempt);
  ~CloudApi();

  Compute& compute() { return compute_; }
  NetworkApi& network() { return network_; }
  ImageApi& image() { return image_; }
  VolumeApi& volume() { return volume_; }

  // Whether the cloud has the service. Throw CloudError.
  async::Task<bool> has_network();
  async::Task<bool> has_volume();

  // After the last call.
  async::Task<> stop();

 private:
  struct Services;

  std::unique_ptr<Services> services_;
  Compute compute_;
  NetworkApi network_;
  ImageApi image_;
  VolumeApi volume_;
};

}  // namespace nodepool::drivers::openstack
