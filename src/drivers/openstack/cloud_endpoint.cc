#include "drivers/openstack/cloud_endpoint.h"

namespace nodepool::drivers::openstack {

CloudEndpoint::CloudEndpoint(const async::Runtime& runtime, Cloud cloud,
                             async::ThreadPool& /*threads*/, const telemetry::Logger& log,
                             const PollPolicy& poll_policy)
    : cloud_(std::move(cloud)),
      poll_policy_(poll_policy),
      account_(runtime, cloud_, log, observer()),
      api_(runtime, account_, log, observer()),
      view_(runtime, api_, cloud_, poll_policy_, log) {}

async::Task<> CloudEndpoint::stop() {
  co_await view_.stop();
  co_await account_.stop();
}

}  // namespace nodepool::drivers::openstack
