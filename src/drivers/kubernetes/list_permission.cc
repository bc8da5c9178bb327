#include "drivers/kubernetes/list_permission.h"

#include <chrono>
#include <utility>

namespace nodepool::drivers::kubernetes {

namespace {

// Between two attempts without permission. A refusal may be momentary.
constexpr auto kFirstBackoff = std::chrono::seconds(1);
constexpr auto kLongestPermissionBackoff = std::chrono::minutes(1);

}  // namespace

ListPermission::ListPermission(const async::Runtime& runtime, telemetry::Logger log,
                               std::string things, std::string loss)
    : runtime_(runtime),
      log_(std::move(log)),
      things_(std::move(things)),
      loss_(std::move(loss)),
      backoff_(kFirstBackoff, kLongestPermissionBackoff) {}

void ListPermission::granted() {
  if (backoff_.has_failed()) log_.info("The user may list {} again", things_);
  backoff_.reset();
}

void ListPermission::refused(const driver::CloudError& error) {
  if (!backoff_.has_failed()) log_.warning("{}: {}", loss_, error.what());
  retry_at_ = runtime_.clock.now() + backoff_.failed();
}

}  // namespace nodepool::drivers::kubernetes
