#include "drivers/openstack/api/cloud_api.h"

#include "drivers/openstack/api/service.h"

namespace nodepool::drivers::openstack {

namespace {

http::ClientOptions options_for(const Cloud& cloud) {
  http::ClientOptions options;
  options.transfers.ca_file = cloud.cacert;
  options.transfers.client_cert = cloud.cert;
  options.transfers.client_key = cloud.key;
  options.transfers.verify = cloud.verify;
  options.request_id_headers = {"x-openstack-request-id", "x-compute-request-id", "x-request-id"};
  return options;
}

}  // namespace

CloudAccount::CloudAccount(const async::Runtime& runtime, const Cloud& cloud,
                           const telemetry::Logger& log, const http::Client::Observer& on_attempt)
    : cloud_(cloud),
      identity_rate_limit_(runtime.clock, 0),
      identity_(runtime, cloud, options_for(cloud), identity_rate_limit_, log, on_attempt) {
  for (const ServiceKind kind :
       {ServiceKind::compute, ServiceKind::network, ServiceKind::image, ServiceKind::volume}) {
    rate_limits_.try_emplace(kind, runtime.clock, 0);
  }
}

void CloudAccount::set_rate(double calls_per_second) {
  identity_rate_limit_.set_rate(calls_per_second);
  for (auto& [kind, limit] : rate_limits_) limit.set_rate(calls_per_second);
}

struct CloudApi::Services {
  Services(const async::Runtime& runtime, CloudAccount& account, const telemetry::Logger& log,
           const http::Client::Observer& on_attempt)
      : compute(make(ServiceKind::compute, runtime, account, log, on_attempt)),
        network(make(ServiceKind::network, runtime, account, log, on_attempt)),
        image(make(ServiceKind::image, runtime, account, log, on_attempt)),
        volume(make(ServiceKind::volume, runtime, account, log, on_attempt)) {}

  static Service make(ServiceKind kind, const async::Runtime& runtime, CloudAccount& account,
                      const telemetry::Logger& log, const http::Client::Observer& on_attempt) {
    return {runtime,
            kind,
            account.cloud(),
            account.identity(),
            options_for(account.cloud()),
            account.rate_limit(kind),
            log,
            on_attempt};
  }

  Service compute;
  Service network;
  Service image;
  Service volume;
};

CloudApi::CloudApi(const async::Runtime& runtime, CloudAccount& account,
                   const telemetry::Logger& log, const http::Client::Observer& on_attempt)
    : services_(std::make_unique<Services>(runtime, account, log, on_attempt)),
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

}  // namespace nodepool::drivers::openstack
