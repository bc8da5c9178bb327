#include "drivers/openstack/api/cloud_api.h"

#include "drivers/openstack/api/service.h"

namespace nodepool::drivers::openstack {

namespace {

http::ClientOptions options_for(const Cloud& cloud, double spacing) {
  http::ClientOptions options;
  options.transfers.ca_file = cloud.cacert;
  options.transfers.client_cert = cloud.cert;
  options.transfers.client_key = cloud.key;
  options.transfers.verify = cloud.verify;
  options.calls_per_second = spacing > 0 ? 1 / spacing : 0;
  return options;
}

}  // namespace

struct CloudApi::Services {
  Services(const async::Runtime& runtime, const Cloud& cloud, const http::ClientOptions& options,
           const telemetry::Logger& log, const http::Client::Observer& on_attempt)
      : identity(runtime, cloud, options, log, on_attempt),
        compute(runtime, ServiceKind::compute, cloud, identity, options, log, on_attempt),
        network(runtime, ServiceKind::network, cloud, identity, options, log, on_attempt),
        image(runtime, ServiceKind::image, cloud, identity, options, log, on_attempt),
        volume(runtime, ServiceKind::volume, cloud, identity, options, log, on_attempt) {}

  Identity identity;
  Service compute;
  Service network;
  Service image;
  Service volume;
};

CloudApi::CloudApi(const async::Runtime& runtime, const Cloud& cloud, double spacing,
                   const telemetry::Logger& log, const http::Client::Observer& on_attempt)
    : services_(
          std::make_unique<Services>(runtime, cloud, options_for(cloud, spacing), log, on_attempt)),
      compute_(services_->compute),
      network_(services_->network),
      image_(services_->image),
      volume_(services_->volume) {}

CloudApi::~CloudApi() = default;

async::Task<bool> CloudApi::has_network() {
  return services_->network.exists();
}

async::Task<bool> CloudApi::has_volume() {
  return services_->volume.exists();
}

async::Task<> CloudApi::stop() {
  return services_->identity.stop();
}

}  // namespace nodepool::drivers::openstack
