#include "drivers/aws/cloud_endpoint.h"

namespace nodepool::drivers::aws {

CloudEndpoint::CloudEndpoint(const async::Runtime& runtime, Account account,
                             async::ThreadPool& threads, const telemetry::Logger& log)
    : account_(std::move(account)),
      state_(runtime, account_, threads, log, observer()),
      caller_(runtime, state_, log, observer()),
      ec2_(caller_),
      quotas_(caller_),
      view_(runtime, ec2_, quotas_),
      terminator_(runtime, ec2_) {}

async::Task<> CloudEndpoint::stop() {
  co_await terminator_.stop();
  co_await view_.stop();
  co_await state_.stop();
}

}  // namespace nodepool::drivers::aws
