#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "async/runtime.h"
#include "driver/cloud_error.h"
#include "drivers/kubernetes/api/classify.h"
#include "telemetry/log.h"

namespace nodepool::drivers::kubernetes {

// Lists a collection that the user may not be allowed to list. The permission may be granted or
// withdrawn at any time.
class ListPermission {
 public:
  // For the log: `things` are listed, such as "the pods of project a"; `loss` is the effect of a
  // missing permission, such as "Not finding leaks".
  ListPermission(const async::Runtime& runtime, telemetry::Logger log, std::string things,
                 std::string loss)
      : runtime_(runtime),
        log_(std::move(log)),
        things_(std::move(things)),
        loss_(std::move(loss)) {}

  // Returns the result of `listing`, or an unknown `List` if the cluster forbids it. Then logs one
  // warning, and awaits only one `listing` a minute. Throws what `listing` throws. `List` is a
  // cloud::ById.
  template <typename List>
  async::Task<List> list(async::Task<std::vector<typename List::Thing>> listing) {
    if (retry_at_ && runtime_.clock.now() < *retry_at_) co_return List::unknown();
    try {
      List listed(co_await std::move(listing));
      granted();
      co_return listed;
    } catch (const driver::CloudError& error) {
      if (!lacks_permission(error)) throw;
      refused(error);
    }
    co_return List::unknown();
  }

 private:
  void granted();
  void refused(const driver::CloudError& error);

  async::Runtime runtime_;
  telemetry::Logger log_;
  std::string things_;
  std::string loss_;
  std::optional<async::Clock::TimePoint> retry_at_;  // nothing: the user may list them
};

}  // namespace nodepool::drivers::kubernetes
