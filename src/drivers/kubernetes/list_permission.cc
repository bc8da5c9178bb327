#include "drivers/kubernetes/list_permission.h"

#include <chrono>

namespace nodepool::drivers::kubernetes {

namespace {

// Between two attempts without permission.
constexpr auto kPermissionInterval = std::chrono::minutes(1);

}  // namespace

void ListPermission::granted() {
  if (retry_at_) log_.info("The user may list {} again", things_);
  retry_at_.reset();
}

void ListPermission::refused(const driver::CloudError& error) {
  if (!retry_at_) log_.warning("{}: {}", loss_, error.what());
  retry_at_ = runtime_.clock.now() + kPermissionInterval;
}

}  // namespace nodepool::drivers::kubernetes
